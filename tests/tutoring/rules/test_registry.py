"""The registry of detectors: one registered detector reaches every check, page and table."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from accounts.roles import Role
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import SessionUnderTest
from tests.tutoring.review.readings import recorded_session, review
from tutoring.checks.checking import check_session
from tutoring.checks.detector_table import detector_table, write_detector_table
from tutoring.rules import Detection, MessageContext
from tutoring.rules.detection import Detector
from tutoring.rules.detectors import detectors

SHOUT = "Look again!!!"


def find_shouts(text: str, _: MessageContext) -> list[Detection]:
    """Return the first run of three exclamation marks."""
    start = text.find("!!!")
    return [Detection("F3", start, start + 3, "This shouts.", 0.5, certain=True)] if start >= 0 else []


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> Detector:
    """Register a throw-away detector for the time of a test."""
    detector = Detector(
        name="shouting",
        version=7,
        clauses=("F3",),
        finds="“!!!”",
        ignores="“!”",
        find=find_shouts,
    )
    monkeypatch.setitem(detectors(), detector.name, detector)
    return detector


def page(user: User, address: str) -> str:
    client = Client()
    client.force_login(user)
    return client.get(address).content.decode()


def test_a_registered_detector_checks_drafts_and_messages(shouting: Detector, session: SessionUnderTest):
    client = Client()
    client.force_login(session.tutor)
    response = client.post(
        f"/sessions/{session.pk}/check/", {"text": SHOUT}, headers={"Accept": "application/json"}
    )
    assert [(one["clause"], one["explanation"]) for one in response.json()["findings"]] == [
        ("F3", "This shouts.")
    ]
    session.say(SHOUT)
    [detection] = session.events("message")[-1].data["check"]["detections"]
    assert (detection["detector"], detection["version"]) == ("shouting", 7)


def test_a_registered_detector_checks_recorded_sessions_and_has_a_score(
    shouting: Detector, person: PersonFactory, rita: User, rosa: User
):
    session = recorded_session(str(uuid4()), ["Solve it.", SHOUT])
    check = check_session(session)
    assert check.detectors["shouting"] == 7
    assert [(one.detector, one.version, one.quote) for one in check.findings.all()] == [
        ("shouting", 7, "!!!")
    ]
    for reviewer in (rita, person("rolf", Role.REVIEWER)):
        review(reviewer, "A5", "F3")
    assert '<th scope="row">shouting</th>' in page(rosa, "/review/detectors/")
    address = "/review/detectors/messages/?detector=shouting&clause=F3&outcome=agreed"
    assert SHOUT in page(rosa, address)


def test_a_session_is_checked_again_with_a_new_detector_and_its_score_follows(
    monkeypatch: pytest.MonkeyPatch, person: PersonFactory, rita: User, rosa: User
):
    session = recorded_session(str(uuid4()), ["Solve it.", SHOUT])
    first = check_session(session)
    for reviewer in (rita, person("rolf", Role.REVIEWER)):
        review(reviewer, "A5", "F3")
    assert "shouting" not in page(rosa, "/review/detectors/")
    detector = Detector("shouting", 1, ("F3",), "“!!!”", "“!”", find_shouts)
    monkeypatch.setitem(detectors(), detector.name, detector)
    assert "shouting" in page(rosa, "/review/detectors/"), (
        "scores are not cached across a change of the registry"
    )
    assert check_session(session) != first


def test_the_documented_table_is_generated_from_the_registry(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After a change of a detector: `manage.py document_detectors`."""
    document = repository / "docs" / "codebook.md"
    assert detector_table() in document.read_text(encoding="utf-8")
    copy = Path(shutil.copy(document, tmp_path))
    monkeypatch.setitem(
        detectors(), "shouting", Detector("shouting", 1, ("F3",), "“!!!”", "“!”", find_shouts)
    )
    write_detector_table(copy)
    row = "| shouting | F3 | “!!!” | “!” |\n"
    text = copy.read_text(encoding="utf-8")
    assert row in text
    assert text.replace(row, "") == document.read_text(encoding="utf-8")
    copy.write_text("No table.", encoding="utf-8")
    with pytest.raises(ValueError, match="head of the detector table once, not 0 times"):
        write_detector_table(copy)


def test_every_module_of_the_folder_is_registered(repository: Path):
    folder = repository / "tutoring" / "rules" / "detectors"
    modules = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--"}
    assert set(detectors()) == modules, "a detector has the name of its module"
    assert all(0 < len(name) <= 40 for name in detectors())


def test_no_other_file_names_a_detector(repository: Path):
    """An author of a detector changes its module, the registry, the generated table and tests."""
    sources = [
        path
        for folder in ("tutoring", "templates", "static")
        for path in (repository / folder).rglob("*")
        if path.suffix in (".py", ".html", ".js") and "migrations" not in path.parts
    ]
    names = {name for name in detectors() if "-" in name}
    assert len(names) > 6
    naming = {
        path.stem.replace("_", "-"): name
        for path in sources
        for name in names
        if f'"{name}"' in path.read_text(encoding="utf-8")
    }
    assert naming == {name: name for name in names}
