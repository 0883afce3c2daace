"""Requests for the scores of a closed session's programs: judgements that workers perform last."""

from __future__ import annotations

from benchmark.judging import SCORES, enqueue, request_judgement, store_submission
from benchmark.models import Judgement
from tutoring.models import Event, ProgramScore, Session
from tutoring.models.payloads import ReplyFinished
from tutoring.sessions.assignments import speed_scope
from tutoring.sessions.programs import distance, program_tokens


def request_scores(session: Session) -> None:
    """Request a judgement on all tests for each program of a session.

    Call it in the transaction that closes the session. Only researchers see the scores. Workers measure them when
    no other work is waiting, and perform executions first, so neither result nor time reveals anything to a tutor.
    """
    payloads = [
        (event, event.payload_as(ReplyFinished)) for event in session.events.filter(kind=Event.Kind.REPLY)
    ]
    programs = [
        (event, reply.code or "", generation)
        for event, reply in payloads
        if (generation := reply.generation) is not None
    ]
    if session.problem is None or not programs:
        return
    scope = speed_scope(session)
    tokens = [program_tokens(code, session.language) for _, code, _ in programs]
    for number, (event, code, generation) in enumerate(programs):
        judgement = request_judgement(
            store_submission(session.problem, code, session.language),
            purpose=Judgement.Purpose.SCORE,
            stop_at_first_failure=False,
            speed_scope=scope,
        )
        ProgramScore.objects.create(
            session=session,
            event=event,
            generation=generation,
            distance_to_previous=distance(tokens[number - 1], tokens[number]) if number else None,
            distance_to_final=distance(tokens[number], tokens[-1]),
            judgement=judgement,
        )
        enqueue(judgement, SCORES)
