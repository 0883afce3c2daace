"""Budgets and counters over random sessions: no limit is exceeded, and counters equal the events."""

from __future__ import annotations

import contextlib
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.models import Judgement, Problem
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, start
from tutoring.actions import AskAgain, record_verdict
from tutoring.models import Event, Protocol, Session
from tutoring.models.payloads import ReplyFinished
from tutoring.replies.endings import fail_reply, finish_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.projections import COUNTERS, counters_of

MOVES = st.lists(
    st.sampled_from(["talk", "talk with code", "code", "refuse code", "stop", "fail", "execute", "fault"]),
    max_size=14,
)


def move(session: SessionUnderTest, name: str) -> None:
    match name:
        case "talk":
            session.say()
            session.reply(TALK)
        case "talk with code":
            session.say()
            session.reply(WRONG)
        case "code":
            session.say("Now.", mode="code")
            session.reply(RIGHT)
        case "refuse code":
            session.say("Now.", mode="code")
            session.reply("I cannot.")
        case "stop":
            session.say()
            finish_reply(session.claim(), ModelAnswer(), stopped=True)
        case "fail":
            session.say()
            fail_reply(session.claim(), kind="server", message="broken", answer=ModelAnswer())
            AskAgain(session_id=session.pk, person=session.tutor, command=uuid4()).execute()
            session.reply(TALK)
        case "execute" | "fault":
            session.execute()
            judgement = session.refresh().judgement
            assert judgement is not None
            judgement.state = Judgement.State.DONE if name == "execute" else Judgement.State.FAILED
            judgement.verdict = "WA" if name == "execute" else "JE"
            judgement.save()
            record_verdict(judgement)


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
@pytest.mark.django_db(transaction=False)
def test_no_order_of_moves_exceeds_a_budget(moves: list[str], person, doubling: Problem, protocol: Protocol):
    tutor = person(f"t-{uuid4().hex[:8]}", Role.TUTOR)
    session = SessionUnderTest(start(tutor, doubling, protocol), tutor)
    for name in moves:
        with contextlib.suppress(RefusedError):
            move(session, name)
    session.refresh()
    context = SessionContext.of(session.row)
    budget = context.budget
    assert budget.code_generations_used <= 5
    assert budget.executions_used <= 1
    counters = {name: getattr(session.row, name) for name in COUNTERS}
    assert counters == counters_of([event.payload for event in context.events])
    assert session.row.code_generations == budget.code_generations_used
    assert session.row.executions == budget.executions_used
    replies = [event.payload for event in context.events if isinstance(event.payload, ReplyFinished)]
    counted = [reply.generation for reply in replies if reply.generation is not None]
    assert counted == list(range(1, len(counted) + 1))
    assert [event.seq for event in context.events] == list(range(1, len(context.events) + 1))
    executed = any(event.kind == Event.Kind.VERDICT for event in context.events)
    assert executed == (session.row.state == Session.State.CLOSED)
