"""Checks of drafts, of sent messages and of recorded sessions."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.roles import Role
from benchmark.models import Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.dialogues import start as start_session
from tests.tutoring.review.readings import recorded_session
from tutoring.checks import checking
from tutoring.checks.checking import check_session
from tutoring.checks.findings import findings_of
from tutoring.checks.recording import basis_of
from tutoring.models import Draft, DraftWarning, Finding, Protocol, Review, RuleCheck, Session
from tutoring.protocols import PRESETS, DraftCheck, freeze, rules_of
from tutoring.rules.detectors import detect, detectors
from tutoring.sessions.context import RefusedError

WARNED = "It passes the first two tests."


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def check(session: SessionUnderTest, text: str, user: User | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Return the status and the findings of the check of a draft, as the page requests it."""
    response = client_of(user or session.tutor).post(
        f"/sessions/{session.pk}/check/", {"text": text}, headers={"Accept": "application/json"}
    )
    return response.status_code, response.json().get("findings", []) if response.status_code == 200 else []


@pytest.fixture
def under(session: SessionUnderTest, bob: User, doubling: Problem, protocol: Protocol):
    """Return a factory: `under("blocking")` starts Bob's session under the default protocol with that draft check."""

    def start(draft_check: DraftCheck) -> SessionUnderTest:
        rules = rules_of(protocol).with_settings(draft_check=draft_check)
        started = start_session(bob, doubling, freeze("other", rules))
        return SessionUnderTest(started, bob)

    return start


def test_draft_check_names_passage_clause_and_reason(session: SessionUnderTest):
    status, [finding] = check(session, f"🐄 No. {WARNED}")
    assert (status, finding["clause"], finding["severity"]) == (200, "F5", "warning")
    assert finding["title"] == "Says more of the verdict than the protocol allows"
    # In UTF-16 units, as scripts count: the cow has two.
    assert (finding["start"], finding["end"]) == (10, 36)
    assert "only a run shows that" in finding["explanation"]


def test_draft_check_is_for_the_sessions_own_tutor(
    session: SessionUnderTest, bob: User, rita: User, ada: User
):
    assert [check(session, WARNED, user)[0] for user in (bob, rita, ada)] == [404, 403, 404]
    assert Draft.objects.count() == 0
    assert client_of(session.tutor).get(f"/sessions/{session.pk}/check/").status_code == 405
    assert check(session, "a\0b")[0] == 400
    assert check(session, "x" * 20_001)[0] == 409


def test_message_records_its_check_and_the_drafts_with_findings(session: SessionUnderTest, ada: User):
    session.ask_and_get(WRONG)
    for text in ("It is wrong", WARNED, f"{WARNED} And more.", "See line 1."):
        check(session, text)
    session.say("See line 1 of it.")
    recorded = session.events("message")[-1].data["check"]
    assert [draft["text"] for draft in recorded["drafts"]] == [WARNED, "See line 1."]
    [detection] = recorded["detections"]
    assert (detection["clause"], detection["detector"], detection["version"]) == ("F2", "code-pointing", 3)
    assert (recorded["mode"], recorded["rule_set"]) == ("advisory", 1)
    assert len(recorded["rule_set_hash"]) == 64
    page = client_of(ada).get(f"/trajectories/{session.pk}/").content.decode()
    assert "See line 1<ins> of it</ins>." in page, "the change from the draft to the message is marked"
    session.reply("Ah.")
    session.say("Go on.")
    later = session.events("message")[-1].data["check"]
    assert (later["drafts"], later["detections"]) == ([], [])


def test_a_draft_that_is_written_while_the_model_replies_is_recorded(session: SessionUnderTest):
    session.say("Try it.", mode="code")
    check(session, WARNED)
    session.reply(WRONG)
    session.say("Go on.")
    recorded = session.events("message")[-1].data["check"]
    assert [draft["text"] for draft in recorded["drafts"]] == [WARNED]


def test_a_draft_whose_message_is_sent_during_its_check_is_not_recorded_for_the_next_message(
    session: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as during_the_check:

        def detect_and_send(*arguments: Any) -> Any:
            during_the_check.undo()
            session.say("Other words.")
            return detect(*arguments)

        during_the_check.setattr(checking, "detect", detect_and_send)
        assert check(session, WARNED)[1] != []
    assert not DraftWarning.objects.exists()
    session.reply("Ah.")
    session.say(WARNED)
    check(session, WARNED)  # the page checks its text while it sends it
    assert not DraftWarning.objects.exists()


def test_draft_check_keeps_the_draft_that_is_being_typed(session: SessionUnderTest):
    check(session, WARNED)
    client_of(session.tutor).post(f"/sessions/{session.pk}/draft/", {"text": "Other words"})
    assert Draft.objects.get().text == "Other words"
    assert DraftWarning.objects.get().text == WARNED


def test_blocking_protocol_refuses_code_and_nothing_else(under):
    session = under("blocking")
    session.ask_and_get(WRONG)
    with pytest.raises(RefusedError, match=r"blocks this message\. “n = int\(input\(\)\)"):
        session.say("Write this:\n\nn = int(input()) * 2\nprint(n + n)")
    assert session.events("refused")[-1].data["action"] == "SendMessage"
    session.say(WARNED)
    assert session.events("message")[-1].data["check"]["mode"] == "blocking"


def test_protocol_without_a_check_finds_and_records_nothing(under):
    session = under("off")
    assert check(session, WARNED) == (200, [])
    session.say(WARNED)
    assert "check" not in session.events("message")[-1].data
    assert b"draft-check" not in client_of(session.tutor).get(f"/sessions/{session.pk}/").content


def test_draft_check_does_not_reveal_hidden_tests(session: SessionUnderTest):
    hidden, other = (check(session, f"Try {number}.")[1] for number in (987654, 456789))
    assert hidden == other
    assert [finding["severity"] for finding in hidden] == ["notice"]


def test_closed_session_is_checked_and_hidden_data_found(
    session: SessionUnderTest, django_capture_on_commit_callbacks
):
    session.ask_and_get(WRONG)
    session.say(f"Try 987654. {WARNED}")
    session.reply("Ah.")
    with django_capture_on_commit_callbacks(execute=True):
        client_of(session.tutor).post(
            f"/sessions/{session.pk}/close/", {"command": str(uuid4()), "reason": "Enough."}
        )
    [done] = session.row.rule_checks.all()
    assert done.detectors == {name: detector.version for name, detector in detectors().items()}
    found = [(finding.clause, finding.quote, finding.weight) for finding in done.findings.all()]
    assert found == [("F4", "987654", 0.9), ("F5", "passes the first two tests", 0.75)]
    assert check_session(session.row) == done


def test_recorded_checks_are_never_changed_or_deleted(session: SessionUnderTest):
    session.say(WARNED)
    done = check_session(session.row)
    for row in (done, done.findings.get()):
        with pytest.raises(TypeError, match="never changed"):
            row.save()
        with pytest.raises(TypeError, match="never deleted"):
            row.delete()


def test_stored_bases_stay_valid():
    """A changed hash would repeat the checks of all recorded sessions, and pay for those by a model again."""
    stored = "cedfff5d1f1a65cd1030ac0d12459b066cc70c3dcad90348d102831e902b2166"
    assert basis_of("openai:checker", {"model-checker": 1}, "f" * 64, None, 7) == stored


def test_new_events_make_a_new_check_and_keep_the_old(session: SessionUnderTest):
    session.say(WARNED)
    first = check_session(session.row)
    session.reply(RIGHT)
    second = check_session(session.row)
    assert [first.findings.count(), second.findings.count(), RuleCheck.objects.count()] == [1, 1, 2]


def run(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("check_rules", *words, "--json", stdout=out)
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def test_check_rules_reports_closed_sessions_and_repeats_no_check(session: SessionUnderTest):
    assert run() == {"sessions": []}
    session.say(WARNED)
    Session.objects.update(state=Session.State.CLOSED)
    [row] = run("--dataset", "practice")["sessions"]
    assert (row["problem"], row["state"]) == ("practice/doubling", "checked")
    [finding] = row["findings"]
    assert (finding["rule"], finding["event"], finding["quote"]) == ("F5", 2, "passes the first two tests")
    assert run()["sessions"] == [row | {"state": "unchanged"}]
    out = io.StringIO()
    call_command("check_rules", stdout=out)
    assert "event 2, F5, warning: “passes the first two tests”" in out.getvalue()
    with pytest.raises(CommandError, match="no dataset 'nowhere'"):
        run("--dataset", "nowhere")
    assert Finding.objects.count() == 1


def test_earlier_detectors_that_are_used_again_show_their_findings_again(
    session: SessionUnderTest, ada: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    session.say(WARNED)
    Session.objects.update(state=Session.State.CLOSED)
    [row] = run()["sessions"]
    with monkeypatch.context() as other:
        other.setattr(checking, "detectors", dict)
        other.setattr(checking, "detect", lambda *_: [])
        assert run()["sessions"] == [row | {"findings": []}]
    assert [run()["sessions"], run()["sessions"]] == [[row], [row | {"state": "unchanged"}]]
    page = client_of(ada).get(f"/trajectories/{session.pk}/").content.decode()
    assert "<p>1 under" in page
    export = tmp_path / "export.jsonl"
    with export.open("w") as file:
        call_command("export_trajectories", stdout=file)
    latest = RuleCheck.objects.by_detectors()[:1]
    Finding.objects.filter(rule_check__in=[check.pk for check in latest]).delete()
    RuleCheck.objects.filter(pk__in=[check.pk for check in latest]).delete()
    for _ in range(2):
        call_command("import_trajectories", str(export), stdout=io.StringIO())
        assert [check.findings.count() for check in RuleCheck.objects.by_detectors()] == [1, 0, 1]


def test_published_dialogues_show_both_kinds_of_breach(shared_data: Path, db: None):
    """docs/spec.md 8.2. Six programs in one dialogue are no breach, because no file names its protocol."""
    out = io.StringIO()
    call_command("import_trajectories", str(shared_data / "trajectories"), "--json", stdout=out)
    rows = {row["file"]: row["findings"] for row in json.loads(out.getvalue())["trajectories"]}
    warned = {
        file: {finding["rule"] for finding in findings if finding["severity"] == "warning"}
        for file, findings in rows.items()
    }
    assert warned == {
        "bronze_postcutoff_palindromes_FAIL.json": set(),
        "bronze_precutoff_air_cownditioning_correct1.json": {"F1"},
        "bronze_precutoff_lemonade_correct1.json": {"F3"},
        "silver_precutoff_loan_repayment_SUCCESS.json": {"F5"},
        "silver_precutoff_rest_stops_FAIL.json": {"F2"},
        "silver_precutoff_rest_stops_SUCCESS2.json": {"F1"},
    }
    quotes = [finding["quote"] for finding in rows["bronze_precutoff_lemonade_correct1.json"]]
    assert "minimum possible number of cows who might join the line, not the maximum" in quotes


PUBLISHED_BREACHES = {
    ("bronze_precutoff_air_cownditioning_correct1.json", 3): {"F1"},
    ("bronze_precutoff_lemonade_correct1.json", 3): {"F3"},
    ("silver_precutoff_loan_repayment_SUCCESS.json", 3): {"F5"},
    ("silver_precutoff_loan_repayment_SUCCESS.json", 7): {"F5"},
    ("silver_precutoff_loan_repayment_SUCCESS.json", 13): {"F5"},
    ("silver_precutoff_rest_stops_FAIL.json", 9): {"F2"},
    ("silver_precutoff_rest_stops_FAIL.json", 11): {"F2"},
}
"""Breaches by file and number of the message that every version of the detectors must find."""

PUBLISHED_ALLOWED = [
    ("bronze_postcutoff_palindromes_FAIL.json", 5),
    ("bronze_postcutoff_palindromes_FAIL.json", 7),
    ("silver_precutoff_loan_repayment_SUCCESS.json", 9),
    ("silver_precutoff_loan_repayment_SUCCESS.json", 11),
    ("silver_precutoff_rest_stops_SUCCESS2.json", 3),
    ("silver_precutoff_rest_stops_SUCCESS2.json", 5),
    ("silver_precutoff_rest_stops_SUCCESS2.json", 7),
    ("silver_precutoff_rest_stops_SUCCESS2.json", 11),
]


def test_no_message_of_the_published_dialogues_loses_its_findings(shared_data: Path, db: None):
    """Their tutors resemble the writers of the labelled drafts less than those resemble each other."""
    out = io.StringIO()
    call_command("import_trajectories", str(shared_data / "trajectories"), "--json", stdout=out)
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for row in json.loads(out.getvalue())["trajectories"]:
        for finding in row["findings"]:
            if finding["severity"] == "warning":
                found[row["file"], finding["event"]].add(finding["rule"])
    missed = {
        message: clauses - found[message]
        for message, clauses in PUBLISHED_BREACHES.items()
        if not clauses <= found[message]
    }
    assert not missed
    assert {message: found[message] for message in PUBLISHED_ALLOWED if found[message]} == {}


def test_exceeded_budget_of_an_imported_session_is_found_only_with_a_known_protocol(ada: User):
    rules = PRESETS["usaco-2024"].with_settings(code_generations=1).to_json()
    known, unknown = (
        recorded_session(str(uuid4()), ["Go on.", "And now?"], protocol=protocol)
        for protocol in ({"name": "elsewhere", "version": 1, "rules": rules}, None)
    )
    [finding] = findings_of(check_session(known))
    assert (finding.clause, finding.counts) == ("code_generations", {"found": 2, "allowed": 1})
    assert not findings_of(check_session(unknown))


def test_budget_findings_of_older_versions_are_hidden_without_a_protocol(ada: User, tmp_path: Path):
    session = recorded_session(str(uuid4()), ["Go on.", "And now?"])
    check = RuleCheck.objects.create(
        session=session, rule_set=1, rule_set_hash="", detectors={}, basis="older"
    )
    Finding.objects.create(
        rule_check=check,
        event=session.events.get(seq=4),
        clause="code_generations",
        detector="generation-count",
        version=1,
        start=0,
        end=0,
        explanation="2 code generations, the protocol allows 1",
        weight=1.0,
        counts={"found": 2, "allowed": 1},
    )
    page = client_of(ada).get(f"/trajectories/{session.pk}/").content.decode()
    assert "<p>0 under" in page
    assert "the protocol allows" not in page
    call_command(
        "export_trajectories", "--format", "datasets", "--output", str(tmp_path), stdout=io.StringIO()
    )
    assert not (tmp_path / "data" / "findings.jsonl").exists()


def test_a_reviewer_sees_findings_only_after_submitting_the_own_review(
    session: SessionUnderTest, rita: User, ada: User, person: PersonFactory
):
    session.say(WARNED)
    check_session(session.row)
    page = f"/trajectories/{session.pk}/"
    shown = "This tells which tests pass"
    assert [shown in client_of(user).get(page).content.decode() for user in (rita, ada)] == [False, True]
    rosa = person("rosa", Role.RESEARCHER)
    client = client_of(rosa)
    client.get(page)
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(page)
    session.reply(RIGHT)
    session.say(f"{WARNED} {WARNED}")
    check_session(session.row)
    with CaptureQueriesContext(connection) as more:
        assert shown in client.get(page).content.decode()
    assert len(more) == len(few)
    review = Review.objects.create(
        session=session.row, rule_set=1, reviewer=rita, by="r", opened_at=timezone.now()
    )
    assert shown not in client_of(rita).get(page).content.decode()
    Review.objects.filter(pk=review.pk).update(state=Review.State.SUBMITTED)
    assert shown in client_of(rita).get(page).content.decode()
