"""Commands on a session: what is allowed, and what is recorded."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmark.models import Judgement, Problem
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, start
from tutoring.actions import AskAgain, CloseSession, Invalidate, StopReply, record_verdict
from tutoring.models import Event, Protocol, Reply, Session
from tutoring.replies.claims import claim_replies
from tutoring.replies.endings import fail_reply, finish_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta, append_deltas
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import tutor_view


def test_first_message_carries_the_statement_and_nothing_hidden(session: SessionUnderTest):
    session.say("", mode="code")
    claimed = session.claim()
    assert [message.role for message in claimed.messages] == ["user"]
    sent = claimed.messages[0].content
    assert "Read a number and print twice the number." in sent
    assert "Time limit: 1 s" in sent
    assert "987654" not in sent
    assert "SECRET-ANALYSIS" not in sent


def test_talk_asks_for_no_program_and_code_asks_for_one(session: SessionUnderTest):
    session.say("What does the sample say?", mode="talk")
    session.reply(TALK)
    session.say("Good.", mode="code")
    messages = session.claim().messages
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert "Do not write a program" in messages[0].content
    assert "complete program" in messages[2].content
    assert "```python" in messages[2].content


OPEN = "So:\n\n```python\nn = int(input())\nfor i in range("
CUT_FRAGMENT = "So:\n\n```python\nn = int(input())\n```\nand then"
UNTAGGED = "So:\n\n```\nn = int(input())\nprint(n)\n```\n"


@pytest.mark.parametrize(
    ("text", "ended", "code"),
    [
        (RIGHT, "stop", "print(2 * int(input()))\n"),
        (OPEN, "stop", "n = int(input())\nfor i in range(\n"),
        (OPEN, "length", "n = int(input())\nfor i in range(\n"),
        (OPEN, "stopped", None),
        (CUT_FRAGMENT, "length", "n = int(input())\n"),
        (CUT_FRAGMENT, "stopped", None),
        (UNTAGGED, "stopped", "n = int(input())\nprint(n)\n"),
        (f"<think>{OPEN}", "length", None),
        (TALK, "length", None),
    ],
)
def test_a_generation_is_counted_by_how_the_reply_ended(
    session: SessionUnderTest, text: str, ended: str, code: str | None
):
    session.say()
    if ended == "stopped":
        session.stopped_reply(text)
    else:
        session.reply(text, finish_reason=ended)
    [reply] = session.events(Event.Kind.REPLY)
    assert (reply.data["generation"], reply.data["code"]) == (1 if code else None, code)
    assert session.refresh().code_generations == (1 if code else 0)


def test_talk_is_free_and_unsolicited_programs_are_counted(session: SessionUnderTest):
    session.say()
    session.reply(TALK)
    assert session.refresh().code_generations == 0
    session.say()
    session.reply(WRONG)
    assert session.refresh().code_generations == 1
    reply = session.events(Event.Kind.REPLY)[-1]
    assert reply.data["generation"] == 1
    assert reply.data["code_requested"] is False


def test_sixth_generation_is_refused_and_the_refusal_recorded(session: SessionUnderTest):
    for _ in range(5):
        session.ask_and_get(WRONG)
    with pytest.raises(RefusedError, match="All 5 generations of code are used"):
        session.say("Once more.", mode="code")
    assert session.refresh().code_generations == 5
    assert session.events()[-1].kind == Event.Kind.REFUSED
    assert session.events()[-1].data["action"] == "SendMessage"


@pytest.mark.usefixtures("sandbox")
def test_right_program_solves_the_session_and_closes_it(session: SessionUnderTest):
    session.ask_and_get(WRONG)
    session.ask_and_get(RIGHT)
    session.execute()
    assert session.refresh().state == Session.State.JUDGING
    session.judge()
    assert session.row.state == Session.State.CLOSED
    assert session.row.outcome == Session.Outcome.SOLVED
    verdict = session.events(Event.Kind.VERDICT)[0]
    assert (verdict.data["verdict"], verdict.data["passed"], verdict.data["total"]) == ("AC", 3, 3)


@pytest.mark.usefixtures("sandbox")
def test_wrong_program_ends_the_session_unsolved(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.ask_and_get(WRONG)
    session.execute()
    session.judge()
    assert session.row.outcome == Session.Outcome.NOT_SOLVED
    assert session.events(Event.Kind.VERDICT)[0].data["verdict"] == "WA"
    with pytest.raises(RefusedError, match="closed"):
        session.say("One more try.")
    with pytest.raises(RefusedError, match="closed"):
        session.execute()


@pytest.mark.usefixtures("sandbox")
def test_a_verdict_near_the_limit_is_marked_in_the_record(
    session: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("judge.Judgement.near_limit", True)
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    [verdict] = session.events(Event.Kind.VERDICT)
    assert (verdict.data["near_limit"], verdict.data["time_factor"]) == (True, 1.0)


def test_second_execution_is_refused_while_the_first_is_judged(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    with pytest.raises(RefusedError, match="The judge is running the program"):
        session.execute()
    assert Judgement.objects.count() == 1


def test_execution_needs_a_program(session: SessionUnderTest):
    session.say()
    session.reply(TALK)
    with pytest.raises(RefusedError, match="no program yet"):
        session.execute()


@pytest.mark.usefixtures("sandbox")
def test_judge_fault_gives_the_execution_back(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    judgement = session.refresh().judgement
    assert judgement is not None
    judgement.state = Judgement.State.FAILED
    judgement.fault = "the sandbox did not start"
    judgement.save()
    record_verdict(judgement)
    assert session.refresh().state == Session.State.OPEN
    session.execute()
    session.judge()
    assert session.row.outcome == Session.Outcome.SOLVED


@pytest.mark.usefixtures("sandbox")
def test_verdict_is_recorded_once(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    assert session.row.judgement is not None
    record_verdict(session.row.judgement)
    assert len(session.events(Event.Kind.VERDICT)) == 1
    assert len(session.events(Event.Kind.CLOSED)) == 1


def test_repeated_command_changes_nothing(session: SessionUnderTest):
    command = uuid4()
    session.say("Hello", command=command)
    session.say("Hello", command=command)
    assert len(session.events(Event.Kind.MESSAGE)) == 1
    refused = uuid4()
    for _ in range(2):
        with pytest.raises(RefusedError, match="still replying"):
            session.say("And?", command=refused)
    assert len(session.events(Event.Kind.REFUSED)) == 1


def test_one_reply_at_a_time(session: SessionUnderTest):
    session.say()
    with pytest.raises(RefusedError, match="still replying"):
        session.say()
    with pytest.raises(RefusedError, match="still replying"):
        session.execute()


def test_empty_and_overlong_messages_are_refused_whole(session: SessionUnderTest):
    session.ask_and_get(WRONG)
    with pytest.raises(RefusedError, match="empty"):
        session.say("  \n")
    with pytest.raises(RefusedError, match="20,001 characters; at most 20,000"):
        session.say("x" * 20_001)
    assert len(session.events(Event.Kind.MESSAGE)) == 1


def test_stopped_reply_counts_only_with_a_complete_program(session: SessionUnderTest):
    for text, counts in [("```python\nprint(1", 0), (RIGHT + "And this is why", 1)]:
        session.say("Try.", mode="code")
        claimed = session.claim()
        StopReply(session_id=session.pk, person=session.tutor, command=uuid4(), reply_id=claimed.pk).execute()
        stopped, lost = append_deltas(
            [Delta(claimed.pk, claimed.attempt, 1, text)], [(claimed.pk, claimed.attempt)]
        )
        assert (stopped, lost) == ({claimed.pk}, set())
        finish_reply(claimed, ModelAnswer(), stopped=True)
        assert session.refresh().code_generations == counts


def test_replies_can_be_stopped_three_times(session: SessionUnderTest):
    for _ in range(3):
        session.say()
        claimed = session.claim()
        StopReply(session_id=session.pk, person=session.tutor, command=uuid4(), reply_id=claimed.pk).execute()
        finish_reply(claimed, ModelAnswer(), stopped=True)
    session.say()
    claimed = session.claim()
    with pytest.raises(RefusedError, match="3 replies were stopped"):
        StopReply(session_id=session.pk, person=session.tutor, command=uuid4(), reply_id=claimed.pk).execute()


def test_failed_reply_costs_nothing_and_is_asked_for_again(session: SessionUnderTest):
    session.say("Try.", mode="code")
    fail_reply(session.claim(), kind="overloaded", message="the provider is overloaded", answer=ModelAnswer())
    with pytest.raises(RefusedError, match="failed"):
        session.say("Hello?")
    AskAgain(session_id=session.pk, person=session.tutor, command=uuid4()).execute()
    claimed = session.claim()
    assert len(claimed.messages) == 1
    finish_reply(claimed, ModelAnswer(), stopped=True)
    assert session.refresh().code_generations == 0


def test_lost_streamers_text_is_kept_and_the_reply_restarted(session: SessionUnderTest):
    session.say("Try.", mode="code")
    lost = session.claim()
    append_deltas([Delta(lost.pk, lost.attempt, 1, "Half a th")], [(lost.pk, lost.attempt)])
    assert claim_replies(10) == []
    Reply.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert claim_replies(10, written=[lost.pk]) == [], "it is the streamer's own reply"
    taken_over = session.claim()
    assert taken_over.attempt == 2
    assert session.events(Event.Kind.REPLY_RESTARTED)[0].data["partial_text"] == "Half a th"
    _, gone = append_deltas([Delta(lost.pk, lost.attempt, 2, "ought")], [(lost.pk, lost.attempt)])
    assert gone == {lost.pk}
    finish_reply(lost, ModelAnswer(), stopped=True)
    assert session.events(Event.Kind.REPLY) == []
    append_deltas([Delta(lost.pk, 2, 1, RIGHT)], [(lost.pk, 2)])
    finish_reply(taken_over, ModelAnswer(), stopped=True)
    assert session.events(Event.Kind.REPLY)[0].data["text"] == RIGHT


def test_three_sessions_a_problem_and_one_open_at_a_time(
    alice: User, bob: User, doubling: Problem, protocol: Protocol
):
    for number in (1, 2, 3):
        started = start(alice, doubling, protocol)
        assert started.number == number
        with pytest.raises(RefusedError, match="open session"):
            start(alice, doubling, protocol)
        CloseSession(session_id=started.pk, person=alice, command=uuid4(), reason="stuck").execute()
    with pytest.raises(RefusedError, match="All 3 sessions"):
        start(alice, doubling, protocol)
    assert start(bob, doubling, protocol).number == 1


def test_scripted_student_needs_a_practice_problem_and_python(
    alice: User, doubling: Problem, protocol: Protocol
):
    cpp = Protocol.objects.get(name="icpc-2025")
    with pytest.raises(RefusedError, match="scripted practice student"):
        start(alice, doubling, cpp, "practice:student")
    doubling.dataset.name = "other"
    doubling.dataset.save()
    with pytest.raises(RefusedError, match="scripted practice student"):
        start(alice, doubling, protocol, "practice:student")


def test_closing_requires_a_reason(session: SessionUnderTest):
    with pytest.raises(RefusedError, match="why"):
        CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason=" ").execute()
    CloseSession(
        session_id=session.pk, person=session.tutor, command=uuid4(), reason="out of ideas"
    ).execute()
    assert session.refresh().outcome == Session.Outcome.ABANDONED
    assert "“out of ideas”. The session is closed." in tutor_view(session.row).events[-1].html


def test_nobody_acts_on_anothers_session(session: SessionUnderTest, bob: User, ada: User):
    for stranger in (bob, ada):
        with pytest.raises(Session.DoesNotExist):
            CloseSession(session_id=session.pk, person=stranger, command=uuid4(), reason="x").execute()
    assert [event.kind for event in session.events()] == [Event.Kind.OPENED]


def test_tutor_who_lost_the_role_cannot_go_on(session: SessionUnderTest):
    session.tutor.groups.remove(Group.objects.get(name="tutor"))
    with pytest.raises(PermissionDenied):
        session.say()


def test_only_admins_invalidate_and_nothing_is_deleted(session: SessionUnderTest, bob: User, ada: User):
    with pytest.raises(PermissionDenied):
        Invalidate(session_id=session.pk, person=bob, command=uuid4(), reason="x").execute()
    Invalidate(session_id=session.pk, person=ada, command=uuid4(), reason="told the answer").execute()
    assert session.refresh().invalidated
    assert session.events()[-1].data == {"reason": "told the answer"}


def test_recorded_events_are_neither_changed_nor_deleted(session: SessionUnderTest):
    [opened] = session.events()
    opened.data = {"prompt": "another"}
    with pytest.raises(TypeError, match="never changed"):
        opened.save()
    with pytest.raises(TypeError, match="never deleted"):
        opened.delete()
    [opened] = session.events()
    assert "print twice the number" in opened.data["prompt"]


def test_database_itself_refuses_a_second_reply_and_a_taken_number(session: SessionUnderTest):
    session.say()
    message = session.events(Event.Kind.MESSAGE)[0]
    with pytest.raises(IntegrityError), transaction.atomic():
        session.row.replies.create(message=message)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.create(session=session.row, seq=1, kind=Event.Kind.MESSAGE)
