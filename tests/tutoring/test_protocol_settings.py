"""Settings of protocols: verdict policy, unsolicited programs, debrief, consent, pace."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from benchmark.functional import Signature
from benchmark.models import Problem
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, model, start
from tutoring.actions import CloseSession, ConsentMissingError, StartSession, StopReply
from tutoring.checks.checking import check_session
from tutoring.models import Consent, Event, Protocol, Reply
from tutoring.models.payloads import SessionOpened
from tutoring.protocols import RulesError, freeze, rules_of
from tutoring.replies.endings import fail_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta
from tutoring.replies.streamer import FLUSH_INTERVAL, ActiveReply
from tutoring.review.content import labelled_messages
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import tutor_view
from tutoring.trajectories.trajectory import read_trajectory

Under = Callable[..., SessionUnderTest]

TALKATIVE = f"First I would read.\n\n{WRONG}\nThat is all."


@pytest.fixture
def under(alice: User, doubling: Problem, protocol: Protocol) -> Under:
    """A factory of sessions of Alice under the default protocol with changes: `under(tutor_sees="solved")`."""

    def begin(**settings: Any) -> SessionUnderTest:
        other = freeze("other", rules_of(protocol).with_settings(**settings))
        return SessionUnderTest(start(alice, doubling, other, "openai:hidden-model-name"), alice)

    return begin


def pages_of(session: SessionUnderTest) -> str:
    """Return all pages of the session's tutor and all events that the socket pushes."""
    client = Client()
    client.force_login(session.tutor)
    addresses = (f"/sessions/{session.pk}/", "/sessions/", "/problems/practice/doubling/")
    pushed = [event.html for event in tutor_view(session.refresh()).events]
    return "\n".join([*(client.get(address).content.decode() for address in addresses), *pushed])


VERDICT_KEYS = {
    "full": {
        "solved",
        "verdict",
        "meaning",
        "samples_only",
        "passed",
        "total",
        "failed_test",
        "time",
        "near_limit",
    },
    "verdict": {"solved", "verdict", "meaning", "samples_only"},
    "solved": {"solved", "samples_only"},
    "nothing": set(),
}


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("sees", VERDICT_KEYS)
def test_tutor_sees_of_the_verdict_what_the_protocol_says(under: Under, sees: str):
    session = under(tutor_sees=sees)
    session.ask_and_get(WRONG)
    session.execute()
    session.judge()
    view = tutor_view(session.row)
    [verdict] = [event.fields for event in view.events if event.kind == "verdict"]
    [closed] = [event.fields for event in view.events if event.kind == "closed"]
    assert set(verdict) == VERDICT_KEYS[sees]
    shown = pages_of(session)
    assert (">WA<" in shown) == (sees in ("full", "verdict"))
    assert ("first failed test: 1" in shown) == (sees == "full")
    assert ("not solved" in shown.lower()) == (sees != "nothing")
    assert closed["outcome"] == ("" if sees == "nothing" else "not_solved")
    assert view.rules.verdict_policy.split(".")[0] in shown.replace("&#x27;", "'")
    assert session.events(Event.Kind.VERDICT)[0].data["verdict"] == "WA", "the record is complete"


@pytest.mark.parametrize(("policy", "counted"), [("count", 1), ("suppress", 0), ("ask_again", 0)])
def test_unsolicited_program(under: Under, policy: str, counted: int):
    session = under(unsolicited_code=policy)
    session.say("What would you do?")
    assert Reply.objects.get().live == (policy == "count")
    session.reply(TALKATIVE)
    [reply] = session.events(Event.Kind.REPLY)
    assert reply.data["text"] == TALKATIVE, "the record is complete"
    assert reply.data["code_requested"] is False
    assert reply.data["withheld"] == (policy != "count")
    assert session.refresh().code_generations == counted
    shown = pages_of(session)
    assert "First I would read." in shown
    assert ("3 *" in shown or 'class="mi">3<' in shown) == (policy == "count")
    shown_reply = tutor_view(session.row).events[-1]
    assert ("figure" in shown_reply.html) == (policy == "count"), "a hidden program has no copy button"
    if policy != "ask_again":
        assert not session.row.replies.filter(state__in=Reply.UNFINISHED).exists()
        return
    claimed = session.claim()
    assert "in words only" in claimed.messages[-1].content
    assert [message.role for message in claimed.messages] == ["user", "assistant", "user"]
    Reply.objects.filter(pk=claimed.pk).update(state=Reply.State.QUEUED)
    session.reply(TALKATIVE)
    assert len(session.events(Event.Kind.ASKED_AGAIN)) == 1, "a reply without a program is requested once"
    assert not session.row.replies.filter(state__in=Reply.UNFINISHED).exists()
    session.ask_and_get(RIGHT)
    assert session.refresh().code_generations == 1, "a requested program counts"


@pytest.mark.parametrize(
    "shown",
    [
        "<python>\nn = int(input())\nprint(n * 777)\n</python>",
        '{"code": "n = int(input())\\nprint(n * 777)"}',
        "n = int(input())\nprint(n * 777)",
        '```python\n"""\n```\n"""\nn = int(input())\nprint(n * 777)\n```',
    ],
)
def test_unsolicited_program_is_hidden_in_any_form(under: Under, shown: str):
    session = under(unsolicited_code="suppress")
    session.say("What would you do?")
    session.reply(f"First I would read.\n\n{shown}\n")
    [reply] = session.events(Event.Kind.REPLY)
    assert reply.data["withheld"] is True
    assert "777" not in tutor_view(session.row).events[-1].html
    assert "First I would read." in tutor_view(session.row).events[-1].html


def test_words_of_a_reply_that_may_be_hidden_are_shown_when_it_is_whole(under: Under):
    session = under(unsolicited_code="suppress")
    session.say("What would you do?")
    claimed = session.claim()
    Reply.objects.get().deltas.create(attempt=claimed.attempt, seq=1, text="CANARY")
    view = tutor_view(session.row)
    assert view.active_reply is not None
    assert (view.active_reply.text, view.active_reply.seq) == ("", 0)
    assert "CANARY" not in pages_of(session)


def test_session_on_a_functional_problem_asks_for_its_method_in_python(under: Under, doubling: Problem):
    doubling.signature = Signature("double", ("int",), "int").to_json()
    doubling.save()
    with pytest.raises(RefusedError, match="define a method in Python"):
        under(language="cpp")
    prompt = under().events()[0].payload_as(SessionOpened).prompt
    assert "defines the class Solution with the method double as it is given" in prompt
    assert (
        prompt.index(doubling.statement.strip())
        < prompt.index("class Solution")
        < prompt.index("[END PROBLEM]")
    )


@pytest.mark.usefixtures("sandbox")
def test_debrief_is_out_of_protocol(session: SessionUnderTest):
    with pytest.raises(RefusedError, match="no debrief"):
        session.say("What did you learn?", mode="debrief")
    session.ask_and_get(WRONG)
    session.execute()
    session.judge()
    with pytest.raises(RefusedError, match="closed"):
        session.say("What did you learn?")
    check_session(session.row)
    session.say("You should use a greedy algorithm. It fails on test 3.", mode="debrief")
    claimed = session.claim()
    assert claimed.live
    StopReply(session_id=session.pk, person=session.tutor, command=uuid4(), reply_id=claimed.pk).execute()
    Reply.objects.filter(pk=claimed.pk).update(state=Reply.State.QUEUED, stop_requested=False)
    session.reply(RIGHT)
    after = [event for event in session.events() if event.seq > session.events(Event.Kind.CLOSED)[0].seq]
    said = [event for event in after if event.kind not in (Event.Kind.REFUSED,)]
    assert {event.kind for event in said} == {"message", "stop", "reply_restarted", "reply"}
    assert all(event.out_of_protocol for event in said)
    view = tutor_view(session.refresh())
    assert (view.budget.code_generations_used, view.budget.stops_used) == (1, 0)
    assert session.row.code_generations == 1
    assert view.latest_program is not None
    assert view.latest_program.generation == 1
    assert view.debriefing
    assert [event.data["text"] for event in labelled_messages(session.row)] == ["Try it."]
    check = check_session(session.row)
    assert session.row.rule_checks.count() == 1, "the debrief is not checked"
    assert not check.findings.exists()
    assert read_trajectory(session.row).output_tokens == 5, "tokens of the debrief are not counted"
    with pytest.raises(RefusedError, match="closed"):
        session.execute()
    client = Client()
    client.force_login(session.tutor)
    page = client.get(f"/sessions/{session.pk}/").content.decode()
    assert page.count(">debrief<") == 2


def test_reply_that_failed_before_the_end_is_not_requested_after_it(session: SessionUnderTest):
    session.ask_and_get(WRONG)
    session.say(mode="code")
    fail_reply(session.claim(), "server", "broken", ModelAnswer())
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    client = Client()
    client.force_login(session.tutor)

    def ask_again() -> int:
        form, as_page = {"command": str(uuid4())}, {"Accept": "application/json"}
        return client.post(f"/sessions/{session.pk}/again/", form, headers=as_page).status_code

    assert ask_again() == 409
    assert "Your last message has no reply" not in client.get(f"/sessions/{session.pk}/").content.decode()
    session.say("What did you learn?", mode="debrief")
    fail_reply(session.claim(), "server", "broken", ModelAnswer())
    assert ask_again() == 200
    session.reply(RIGHT)
    assert session.events()[-1].out_of_protocol
    assert session.refresh().code_generations == 1


@pytest.mark.usefixtures("sandbox")
def test_protocol_without_a_debrief_has_none(under: Under):
    session = under(debrief=False)
    session.ask_and_get(WRONG)
    session.execute()
    session.judge()
    assert not any(tutor_view(session.row).may.values())
    with pytest.raises(RefusedError, match="no debrief"):
        session.say("And?", mode="debrief")


def test_consent_is_asked_for_once_a_text(alice: User, doubling: Problem, protocol: Protocol):
    rules = rules_of(protocol).with_settings(tutor_sees="full")
    later = freeze(protocol.name, rules)
    assert later.version == protocol.version + 1
    with pytest.raises(ConsentMissingError):
        StartSession(alice, doubling, later, model("openai:m")).execute()
    start(alice, doubling, protocol, "openai:m")
    assert StartSession(alice, doubling, later, model("openai:other")).execute(), "the text is the same"
    changed = freeze(protocol.name, rules.with_settings(consent="Other terms."))
    with pytest.raises(ConsentMissingError):
        StartSession(alice, doubling, changed, model("openai:third")).execute()
    assert Consent.objects.count() == 1
    silent = freeze("silent", rules.with_settings(consent=""))
    assert StartSession(alice, doubling, silent, model("openai:m")).execute()


def test_blind_reply_is_shown_at_an_even_pace(under: Under):
    session = under(seconds_to_first_word=None)
    session.say()
    claimed = session.claim()
    assert claimed.characters_per_second == 240
    chat = ActiveReply(claimed)
    chat.pending = "x" * 100  # arrives at once
    now = timezone.now()
    sizes = [len(delta.text) for delta in iter(lambda: chat.next_delta(FLUSH_INTERVAL, now), None)]
    assert sizes == [12] * 8 + [4]
    chat.pending = "y" * 100
    assert len((chat.next_delta(60.0, now) or Delta(0, 0, 0, "")).text) == 24, (
        "a pause does not speed up the text after it"
    )
    chat.ending = True
    assert chat.next_delta(0.0, now) == Delta(claimed.pk, 1, 11, "y" * 76)


def test_scripted_student_is_no_secret_and_is_not_slowed_down(
    alice: User, doubling: Problem, protocol: Protocol
):
    session = SessionUnderTest(start(alice, doubling, protocol, "practice:student"), alice)
    session.say(TALK)
    assert session.claim().characters_per_second is None


def test_full_disk_is_reported_and_nothing_is_lost(session: SessionUnderTest):
    client = Client()
    client.force_login(session.tutor)
    form = {"command": str(uuid4()), "mode": "talk", "text": "Words " * 3000}
    as_page = {"Accept": "application/json"}
    with connection.cursor() as cursor:
        if connection.vendor != "sqlite":
            pytest.skip("only SQLite can be told to be full")
        [pages] = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        answers = [
            client.post(f"/sessions/{session.pk}/{action}/", form, headers=as_page)
            for action in ("send", "draft")
        ]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert {answer.status_code for answer in answers} == {503}
    assert all("database or disk is full" in answer.json()["message"] for answer in answers)
    assert session.events(Event.Kind.MESSAGE) == []
    again = client.post(f"/sessions/{session.pk}/send/", form, headers=as_page)
    assert (again.status_code, len(session.events(Event.Kind.MESSAGE))) == (200, 1)


def test_protocols_are_frozen_by_command(db: None, tmp_path: Path):
    terms = tmp_path / "terms.md"
    terms.write_text("Other **terms**.\n")

    def run(*words: str) -> dict[str, Any]:
        out = StringIO()
        call_command("freeze_protocol", "blind", "--title=Blind", "--json", *words, stdout=out)
        frozen: dict[str, Any] = json.loads(out.getvalue())
        return frozen

    words = [
        "--set=tutor_sees=nothing",
        "--set=debrief=false",
        "--set=characters_per_second=none",
        "--set=stops=0",
    ]
    frozen = run(*words, f"--consent={terms}")
    assert run(*words, f"--consent={terms}") == frozen, "equal settings give the same version"
    rules = rules_of(Protocol.objects.get(name="blind", version=1))
    assert (rules.tutor_sees, rules.debrief, rules.characters_per_second, rules.stops) == (
        "nothing",
        False,
        None,
        0,
    )
    assert rules.consent == "Other **terms**."
    assert run("--set=sessions=1")["version"] == 2
    for wrong in (
        "tutor_sees=all",
        "stops=many",
        "debrief=yes",
        "executions=9",
        "language=cobol",
        "sessions=0x",
    ):
        with pytest.raises(CommandError, match=r"must be|no setting"):
            run(f"--set={wrong}")
    with pytest.raises(CommandError, match="cannot be read"):
        run("--consent=/nowhere")
    with pytest.raises(CommandError, match="not a valid name"):
        call_command("freeze_protocol", "a b", "--title=x")
    assert Protocol.objects.filter(name="blind").count() == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"colour": "red"},
            r"protocol usaco-2024 v1: field colour: unknown; expected: title, .*uninvited_code",
        ),
        ({"stops": "many"}, r"protocol usaco-2024 v1: field stops: must be a valid integer, not 'many'"),
        ({"tutor_sees": "all"}, r"field tutor_sees: must be 'full', .*not 'all'"),
        ({"unsolicited_code": "count"}, r"field unsolicited_code: unknown"),
    ],
)
def test_frozen_protocol_with_an_unknown_field_or_value_is_refused(
    protocol: Protocol, change: dict[str, Any], fault: str
):
    protocol.rules = protocol.rules | change
    with pytest.raises(RulesError, match=fault):
        rules_of(protocol)


def test_rules_are_stored_under_the_names_of_earlier_versions(protocol: Protocol):
    """The content hash of a protocol depends on them."""
    assert rules_of(protocol).to_json() == protocol.rules
    assert list(protocol.rules) == [
        "title", "language", "code_generations", "executions", "sessions", "stops", "may", "may_not", "rule_set",
        "rule_set_hash", "tutor_may_say", "draft_check", "tutor_sees", "uninvited_code", "debrief",
        "hide_model", "characters_per_second", "seconds_to_first_word", "maximum_seconds_shown", "consent",
    ]  # fmt: skip
