"""Blind reviews of automatic sessions: what the page hides, the guess at the tutor, and the blinding index."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from accounts.roles import Role
from benchmark.models import Judgement, Problem
from tests.tutoring.arms.arm_rows import store_arm, store_problems
from tests.tutoring.arms.test_sessions import finished
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of, whole
from tests.tutoring.review.readings import reading, recorded_session, submit
from tutoring.actions import record_verdict
from tutoring.arms.projection import project
from tutoring.automatic_tutors.estimation import blinding_index
from tutoring.automatic_tutors.figures import tutor_figures
from tutoring.models import Event, Protocol, Review, Session
from tutoring.models.payloads import MessageSent, TutorDraft, TutorTurn
from tutoring.review.actions import ClaimNext
from tutoring.review.slots import Origins
from tutoring.rules import current_rule_set
from tutoring.trajectories.record_schema import check_record

pytestmark = pytest.mark.django_db
SECRET = "A-PRIVATE-DIAGNOSIS"
MODEL = "openai:the-model-of-the-tutor"


@pytest.fixture
def automatic() -> Session:
    """Return a session of an automatic tutor with a message, a draft and a diagnosis."""
    conduct = {"model": MODEL, "cap": 3, "guard": True, "dataset": "orchard", "template_hash": ""}
    [problem] = store_problems(1)
    run = store_arm(
        "tutor", {problem: ["W"]}, protocol=Protocol.objects.get(name="usaco-2024"),
        prepared={"tutor": conduct, "knows": []}, parameters={"language": "python", "tutor": MODEL},
    )  # fmt: skip
    session = Session.objects.get(work_item__run=run)
    turn = TutorTurn(
        model=MODEL,
        guard="sent",
        level=1,
        drafts=[TutorDraft(text="Think again.", diagnosis=SECRET, level=1)],
    )
    message = MessageSent(mode="code", text="Think again.", sent="Think again.", turn=turn)
    Event.objects.create(
        session=session,
        seq=1,
        kind="message",
        version=message.VERSION,
        by="Pseudonym",
        data=message.to_json(),
    )
    return session


def claimed(person: User, origins: Origins = "all") -> Review:
    ClaimNext(person=person, command=uuid4(), origins=origins).execute()
    return Review.objects.get(reviewer=person, state=Review.State.OPEN)


def test_the_guess_is_stored_at_the_submission_and_gives_the_blinding_index(
    automatic: Session, person: PersonFactory
) -> None:
    for name, guess in (("r1", "program"), ("r2", "cannot tell")):
        reviewer = person(name, Role.REVIEWER)
        review = claimed(reviewer)
        client = client_of(reviewer)
        page = whole(client.get(review.get_absolute_url()))
        assert "Was the tutor a person or a program?" in page
        assert "Think again." in page
        for hidden in (
            SECRET,
            MODEL,
            "the-model-of-the-tutor",
            "session-tutor",
            automatic.model_spec,
        ):
            assert hidden not in page, hidden
        labels = reading(automatic)
        form: dict[str, object] = {f"clause-{one.seq}": one.clauses for one in labels.messages}
        form |= {f"level-{one.seq}": one.level for one in labels.messages}
        form |= {f"stage-{one.seq}": one.stage for one in labels.messages}
        fields = form | {"verdict": labels.verdict, "guess": guess, "command": str(uuid4())}
        answer = client.post(
            f"{review.get_absolute_url()}submit/", fields, headers={"Accept": "application/json"}
        )
        assert answer.status_code == 200, answer.content
        review.refresh_from_db()
        assert (review.state, review.content["guess"]) == (Review.State.SUBMITTED, guess)
    assert automatic.work_item is not None
    figures = tutor_figures("all", [automatic.work_item.run], rule_set=current_rule_set().version)
    [arm] = figures.arms
    assert arm.blinding is not None
    assert (arm.blinding.index, arm.blinding.answers) == (0.5, 2)
    assert arm.breach is not None
    assert (arm.breach.share, arm.breach.sessions) == (0, 1)


@pytest.fixture
def twins(alice: User, doubling: Problem, protocol: Protocol) -> dict[Origins, Session]:
    """Return an automatic session, and one of a person with the same messages, replies and verdict."""
    run, item = finished("session-verdict", doubling, WRONG, RIGHT)
    [automatic] = project(run, [item])
    person = SessionUnderTest(start(alice, doubling, protocol), alice)
    replies = [WRONG, RIGHT]
    for event in automatic.events.filter(kind=Event.Kind.MESSAGE):
        message = event.payload_as(MessageSent)
        assert message.mode is not None
        person.say(message.text, mode=message.mode)
        person.reply(replies.pop(0))
    person.execute()
    judgement = Judgement.objects.latest("pk")
    judgement.state, judgement.verdict, judgement.passed, judgement.total = "done", "AC", 3, 3
    judgement.result, judgement.finished_at = {"tests": []}, timezone.now()
    judgement.save()
    record_verdict(judgement)
    about = dict.fromkeys(("policy", "judge_version", "isolation", "compiler"))
    Judgement.objects.update(result={**about, "tests": []})
    return {"people": person.refresh(), "automatic": automatic}


def test_the_page_of_an_open_review_is_the_same_for_a_person_and_a_policy(
    twins: dict[Origins, Session], person: PersonFactory
) -> None:
    pages = []
    for origins, session in twins.items():
        reviewer = person(origins, Role.REVIEWER)
        review = claimed(reviewer, origins)
        assert review.session_id == session.pk
        page = whole(client_of(reviewer).get(review.get_absolute_url())).partition('<main id="main"')[2]
        for key, name in ((review.pk, "REVIEW"), (session.pk, "SESSION")):
            page = page.replace(str(key), name)
        page = re.sub(r'name="(csrfmiddlewaretoken|command)" value="[^"]*"', "", page)
        page = re.sub(r"Reserved until [^<]*", "", page)
        pages.append(page)
    assert "Here it is." in pages[0]
    assert pages[0] == pages[1]


def test_reviewers_see_no_facts_about_a_session_that_reveal_its_tutor(
    twins: dict[Origins, Session], rita: User, rosa: User
) -> None:
    reader, researcher = client_of(rita), client_of(rosa)
    for session in twins.values():
        for address in (f"/trajectories/{session.pk}/", f"/trajectories/{session.pk}/page.html"):
            shown, whole_record = whole(reader.get(address)), whole(researcher.get(address))
            for fact in ("<dt>Total time</dt>", "<dt>Tutor</dt>", 'class="entry-when"'):
                assert fact not in shown, (address, fact)
            assert "<dt>Tutor</dt>" in whole_record
            assert 'class="entry-when"' in whole_record
            assert "<dt>Total time</dt>" in whole_record
        address = f"/trajectories/{session.pk}/"
        assert "<dt>Closed</dt>" not in whole(reader.get(address))
        assert "<dt>Closed</dt>" in whole(researcher.get(address))


def test_reviewers_find_and_export_both_sessions_alike(
    twins: dict[Origins, Session], rita: User, rosa: User
) -> None:
    reviewer = client_of(rita)
    imported = recorded_session(str(uuid4()), ["A hint."], source={"file": "PALINDROME.json"})
    assert str(imported.pk) in whole(reviewer.get("/trajectories/", {"q": "palindrome"}))
    for text in ("item", "run", "head"):
        assert "No trajectory matches" in whole(reviewer.get("/trajectories/", {"q": text})), text
    assert "2 found" in whole(reviewer.get("/trajectories/", {"q": "doubling"}))
    run = twins["automatic"].source["run"]
    assert str(twins["automatic"].pk) in whole(client_of(rosa).get("/trajectories/", {"q": run}))
    of_one = [whole(reviewer.get(f"/trajectories/{one.pk}/export.jsonl")) for one in twins.values()]
    of_all = whole(reviewer.get("/trajectories/export.jsonl?q=doubling")).splitlines()
    for lines in (of_one, of_all):
        first, second = map(json.loads, lines)
        check_record(first)
        own = ("id", "opened_at", "language_model")
        assert {**first, **dict.fromkeys(own), "events": []} == {**second, **dict.fromkeys(own), "events": []}
        for event in (*first["events"], *second["events"]):
            event["data"].pop("judgement", None)  # a number of a row
            event["data"].pop("code", None)  # the stored generation has no line break at its end
        assert first["events"] == second["events"]


def test_reviewers_export_imported_sessions_without_their_run_and_end(rita: User, rosa: User) -> None:
    source = {"file": "a.json", "run": str(uuid4()), "item": 7}
    session = recorded_session(
        str(uuid4()), ["A hint."], source=source, closed_at="2026-01-02T03:04:05+00:00"
    )
    for address in (f"/trajectories/{session.pk}/export.jsonl", "/trajectories/export.jsonl"):
        complete, blind = (json.loads(whole(client_of(user).get(address))) for user in (rosa, rita))
        assert complete["source"] == source
        assert (blind["source"], blind["closed_at"]) == ({"file": "a.json"}, None)
        assert blind["tutor"] is None
        changed: dict[str, Any] = {"events": [], "source": None, "closed_at": None, "tutor": None}
        assert complete | changed == blind | changed
    check_record(blind)


def test_exports_hold_drafts_decisions_and_guesses(
    automatic: Session, person: PersonFactory, tmp_path: Path
) -> None:
    for name in ("r1", "r2"):
        reviewer = person(name, Role.REVIEWER)
        submit(claimed(reviewer), replace(reading(automatic), guess="program"))
    call_command("export_trajectories", format="datasets", output=tmp_path / "folder")
    [draft] = read_lines(tmp_path / "folder/data/drafts.jsonl")
    assert (draft["guard"], draft["diagnosis"], draft["sent"], draft["refused"]) == ("sent", SECRET, True, [])
    assert {label["guess"] for label in read_lines(tmp_path / "folder/data/labels.jsonl")} == {"program"}
    card = (tmp_path / "folder/README.md").read_text()
    assert "| drafts of tutors' models | 1 |" in card
    assert "`drafts` has a row for each draft" in card
    call_command("export_trajectories", format="inspect", output=tmp_path / "logs")
    logs = "".join(path.read_text() for path in (tmp_path / "logs").rglob("*.json"))
    assert SECRET in logs


def test_only_researchers_read_the_drafts_of_a_tutors_model_in_pages_and_exports(
    automatic: Session, person: PersonFactory
) -> None:
    reviewer = client_of(person("rosa", Role.REVIEWER))
    researcher = client_of(person("rene", Role.RESEARCHER))
    address = f"/trajectories/{automatic.pk}/"
    for page in (address, f"{address}export.jsonl", "/trajectories/export.jsonl"):
        assert SECRET not in whole(reviewer.get(page)), page
        assert '"turn"' not in whole(reviewer.get(page)), page
        assert SECRET in whole(researcher.get(page)), page
    assert f"1 draft of {MODEL}: sent" in whole(researcher.get(address))


def test_the_id_of_an_automatic_session_looks_like_that_of_a_person(automatic: Session) -> None:
    assert automatic.pk.version == uuid4().version == 4


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_other_guesses_are_refused(automatic: Session, person: PersonFactory) -> None:
    reviewer = person("r1", Role.REVIEWER)
    review = claimed(reviewer)
    answer = client_of(reviewer).post(
        f"{review.get_absolute_url()}submit/",
        {"guess": "a ghost", "command": str(uuid4())},
        headers={"Accept": "application/json"},
    )
    assert answer.status_code == 400
    assert "The guess is none of the answers" in answer.json()["message"]


def test_the_blinding_index_is_right_less_wrong_answers_over_problems() -> None:
    found = blinding_index({1: [1, 1, -1, 0], 2: [-1], 3: []})
    assert found is not None
    assert found.index == pytest.approx((0.25 - 1) / 2)
    assert found.answers == 5
    assert blinding_index({1: []}) is None
