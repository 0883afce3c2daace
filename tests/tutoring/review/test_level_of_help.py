"""The level of help of a message: the tutor's choice, the cap of the protocol, and the findings by reviewers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.roles import Role
from benchmark.models import Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import WRONG, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of
from tests.tutoring.review.readings import claim, reading, review, submit
from tutoring.actions import CloseSession
from tutoring.checks.checking import check_session
from tutoring.models import Event, Protocol, Review, ReviewOutcome
from tutoring.models.payloads import MessageSent, parse_payload, read_payload
from tutoring.protocols import PRESETS, freeze, rules_of
from tutoring.review.records import submitted_reviews
from tutoring.trajectories.inspect_logs import to_logs
from tutoring.trajectories.json_lines import read_record, store_record, to_lines, to_record

Under = Callable[..., SessionUnderTest]


@pytest.fixture
def under(alice: User, doubling: Problem) -> Under:
    """A factory of sessions of Alice under the preset with changes: `under(level_cap=1)`."""

    def begin(**settings: Any) -> SessionUnderTest:
        changed = freeze("other", PRESETS["usaco-2024"].with_settings(**settings))
        return SessionUnderTest(start(alice, doubling, changed), alice)

    return begin


def send(session: SessionUnderTest, text: str, **fields: Any) -> Any:
    posted = {"command": str(uuid4()), "mode": "talk", "text": text, **fields}
    return client_of(session.tutor).post(
        f"/sessions/{session.pk}/send/", posted, headers={"accept": "application/json"}
    )


def levels_of(session: SessionUnderTest) -> list[int | None]:
    events = session.events(Event.Kind.MESSAGE)
    return [event.payload_as(MessageSent).intended_level for event in events]


def test_presets_ask_no_level_and_keep_their_hashes():
    for preset in PRESETS.values():
        assert not {"ask_level", "level_cap"} & preset.to_json().keys()
    capped = PRESETS["usaco-2024"].with_settings(level_cap=0, ask_level="optional").to_json()
    assert (capped["level_cap"], capped["ask_level"]) == (0, "optional")


def test_a_changed_cap_is_a_new_version_of_the_protocol(db: None):
    for setting in ("level_cap=0", "level_cap=2", "level_cap=none", "level_cap=none"):
        call_command(
            "freeze_protocol", "capped", "--title=Capped", f"--set={setting}", "--set=ask_level=required"
        )
    frozen = Protocol.objects.filter(name="capped").order_by("version")
    assert [rules_of(one).level_cap for one in frozen] == [0, 2, None]
    for wrong in ("level_cap=5", "level_cap=all", "ask_level=always"):
        with pytest.raises(CommandError, match="must be one of"):
            call_command("freeze_protocol", "capped", "--title=Capped", f"--set={wrong}")


def test_required_level_is_stored_and_its_absence_refuses_the_message(under: Under):
    session = under(ask_level="required")
    send(session, "", mode="code")
    session.reply(WRONG)
    refused = send(session, "Look at the sample.")
    assert refused.status_code == 409
    assert refused.json()["message"] == "Choose the level of help of this message first. Your text is kept."
    assert send(session, "Look at the sample.", level="1").json()["accepted"]
    assert levels_of(session) == [None, 1], "a message without a text has no level"
    page = client_of(session.tutor).get(f"/sessions/{session.pk}/").content.decode()
    assert 'data-ask="required"' in page
    assert '<span class="badge">level 1</span>' in page


def test_refused_message_keeps_the_draft(under: Under):
    session = under(ask_level="required")
    client = client_of(session.tutor)
    saved = client.post(f"/sessions/{session.pk}/draft/", {"text": "My hint", "revision": "0"})
    assert saved.json()["accepted"]
    assert send(session, "My hint", draft=saved.json()["revision"]).status_code == 409
    assert "My hint</textarea>" in client.get(f"/sessions/{session.pk}/").content.decode()


@pytest.mark.parametrize(
    ("ask", "level", "message"),
    [("off", "1", "has no level of help"), ("optional", "5", "There are: 0, 1, 2, 3, 4")],
)
def test_wrong_levels_are_refused(under: Under, ask: str, level: str, message: str):
    session = under(ask_level=ask)
    assert message in send(session, "Look at the sample.", level=level).json()["message"]
    assert send(session, "Look at the sample.", level="one").status_code == 400
    assert send(session, "Look at the sample.", level="").json()["accepted"]
    assert levels_of(session) == [None]


def test_messages_of_older_versions_have_no_level():
    stored = {"mode": "talk", "text": "a", "sent": "a"}
    for version in (1, 2, 3):
        payload = read_payload("message", version, stored)
        assert isinstance(payload, MessageSent)
        assert payload.intended_level is None
    with pytest.raises(ValueError, match="intended_level"):
        parse_payload("message", 3, {**stored, "intended_level": 5})


def test_exports_hold_the_intended_level(under: Under):
    session = under(ask_level="optional", level_cap=3)
    send(session, "Look at the sample.", level="2")
    session.reply(WRONG)
    [line] = to_lines([session.refresh()])
    event = next(one for one in json.loads(line)["events"] if one["kind"] == "message")
    assert (event["version"], event["data"]["intended_level"]) == (5, 2)
    record = json.loads(line)
    record["id"] = str(uuid4())
    imported = store_record(read_record(json.dumps(record), "test"), None)
    assert imported is not None
    assert levels_of(SessionUnderTest(imported, session.tutor)) == [2]
    [log] = to_logs([to_record(session.row)], session.row.recorded_at).values()
    said = [one for one in log["samples"][0]["messages"] if one.get("source") == "operator"]
    assert said[0]["metadata"]["intended_level"] == 2


def check(session: SessionUnderTest, text: str, level: str = "") -> list[dict[str, Any]]:
    answer = client_of(session.tutor).post(
        f"/sessions/{session.pk}/check/",
        {"text": text, "level": level},
        headers={"accept": "application/json"},
    )
    found: list[dict[str, Any]] = answer.json()["findings"]
    return found


def test_draft_check_warns_above_the_cap(under: Under):
    session = under(ask_level="optional", level_cap=1)
    assert not check(session, "Look at the sample.", "1")
    [warning] = check(session, "Look at the sample.", "2")
    assert (warning["clause"], warning["severity"]) == ("cap", "warning")
    assert warning["explanation"] == "You chose level 2. The protocol allows level 1 (area) at most."
    named = check(session, "Write this:\n```python\nprint(2 * int(input()))\n```")
    assert {"F2", "cap"} <= {one["clause"] for one in named}
    assert send(session, "Look at the sample.", level="2").json()["accepted"], "a warning refuses nothing"
    recorded = session.events(Event.Kind.MESSAGE)[0].payload_as(MessageSent).check
    assert recorded is not None
    assert [one.clause for one in recorded.detections] == ["cap"]


def test_draft_check_without_a_cap_is_unchanged(under: Under):
    session = under(ask_level="optional")
    assert not check(session, "Look at the sample.", "4")


def test_page_shows_the_cap_with_its_definition(under: Under):
    session = under(level_cap=2)
    page = client_of(session.tutor).get(f"/sessions/{session.pk}/").content.decode()
    assert "A concept, a data structure or a property that matters." in page
    assert 'id="level-choice"' not in page


@pytest.fixture
def capped(under: Under) -> SessionUnderTest:
    """A closed session under a cap of 1, with one message of the intended level 1."""
    session = under(level_cap=1, ask_level="required")
    send(session, "Look at the sample.", level="1", mode="code")
    session.reply(WRONG)
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    return session


def findings(session: SessionUnderTest) -> list[tuple[str, dict[str, int]]]:
    return [(one.clause, one.counts) for one in check_session(session.row).findings.all()]


@pytest.mark.parametrize(("levels", "found"), [((1, 0), None), ((2, 3), 2)])
def test_agreed_levels_decide_the_cap(
    capped: SessionUnderTest,
    rita: User,
    rolf: User,
    levels: tuple[int, int],
    found: int | None,
    django_capture_on_commit_callbacks: Callable[..., Any],
):
    before = check_session(capped.row)
    with django_capture_on_commit_callbacks(execute=True):
        for person, level in zip((rita, rolf), levels, strict=True):
            review(person, level=level)
    outcome = ReviewOutcome.objects.get()
    assert outcome.verdict == "compliant"
    assert [sorted(one[1:3]) for one in outcome.levels] == [sorted(levels)]
    expected = [] if found is None else [("cap", {"found": found, "allowed": 1})]
    assert findings(capped) == expected
    latest = capped.row.rule_checks.by_detectors().first()
    assert latest is not None
    assert (latest != before) == bool(expected), "the decision of the reviews checks the session again"


def test_reviewers_on_both_sides_of_the_cap_need_an_adjudication(
    capped: SessionUnderTest, rita: User, rolf: User, judy: User
):
    review(rita, level=1)
    review(rolf, level=2)
    outcome = ReviewOutcome.objects.get()
    assert outcome.verdict == ""
    assert not findings(capped)
    decided = claim(judy, adjudicates=True)
    submit(decided, reading(decided.session, comment="By the codebook.", level=2))
    outcome.refresh_from_db()
    [seq] = outcome.mean_levels
    assert (outcome.verdict, outcome.mean_levels[seq], outcome.decided_levels[seq]) == ("compliant", 1.5, 2)
    assert findings(capped) == [("cap", {"found": 2, "allowed": 1})]
    record = to_record(capped.row, submitted_reviews(capped.row))
    [log] = to_logs([record], capped.row.recorded_at).values()
    assert log["samples"][0]["scores"]["compliant"]["value"] == "C"


def test_without_a_cap_different_levels_need_no_adjudication(under: Under, rita: User, rolf: User):
    session = under()
    session.ask_and_get(WRONG)
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    review(rita, level=1)
    review(rolf, level=4)
    assert ReviewOutcome.objects.get().verdict == "compliant"


def test_reviewers_see_the_intended_level_after_their_review(
    capped: SessionUnderTest, rita: User, person: PersonFactory
):
    shown = "intended level 1"
    address = f"/trajectories/{capped.pk}/"
    claimed = claim(rita)
    for page in (address, claimed.get_absolute_url()):
        assert shown not in client_of(rita).get(page).content.decode()
    submit(claimed, reading(claimed.session))
    assert shown in client_of(rita).get(address).content.decode()
    client = Client()
    client.force_login(person("rosa", Role.RESEARCHER))
    assert shown in client.get(address).content.decode()
    assert Review.objects.get().content["messages"][0]["level"] == 1
