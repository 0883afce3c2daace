"""The one execution of a session on the hidden tests, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

import judge
from benchmark.judging import enqueue, request_judgement, store_submission
from benchmark.models import Judgement
from tutoring.checks.checking import check_once_closed
from tutoring.models import Event, Session
from tutoring.scores.program_scores import request_scores
from tutoring.sessions.session_action import Refused, SessionAction, Situation, append_event, lock_session


@dataclass(frozen=True, kw_only=True)
class Execute(SessionAction):
    """Judge the latest program on the hidden tests. The verdict ends the session (docs/spec.md 8.1)."""

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        if session.state == Session.State.CLOSED:
            raise Refused("This session is closed.")
        if situation.budget.executions_left == 0:
            raise Refused("The execution is used.")
        if situation.unfinished_reply is not None:
            raise Refused("The model is still replying. Wait for it, or stop it.")
        program = situation.latest_program
        if program is None or session.problem is None:
            raise Refused("There is no program yet. Ask the model for code first.")
        submission = store_submission(session.problem, program.data["code"], session.language)
        judgement = request_judgement(submission)
        session.judgement = judgement
        session.state = Session.State.JUDGING
        session.executions += 1
        session.save(update_fields=["judgement", "state", "executions"])
        append_event(
            session,
            Event.Kind.EXECUTION,
            {"generation": program.data["generation"], "program": program.seq, "judgement": judgement.pk},
            actor=self.person,
            command=self.command,
        )
        enqueue(judgement, "tutoring")


def record_verdict(judgement: Judgement, **_: Any) -> None:
    """Write a finished judgement into the session that waits for it; anything else is left alone.

    A verdict closes the session. A judge fault gives the execution back: it is nobody's wrong answer.
    """
    waiting = Session.objects.filter(judgement=judgement, state=Session.State.JUDGING).values_list(
        "pk", flat=True
    )
    for session_id in waiting:
        with transaction.atomic():
            session = lock_session(session_id)
            if session.state != Session.State.JUDGING or session.judgement_id != judgement.pk:
                continue
            if judgement.state == Judgement.State.FAILED:
                _give_execution_back(session, judgement)
            else:
                _close_with_verdict(session, judgement)


def _give_execution_back(session: Session, judgement: Judgement) -> None:
    session.state = Session.State.OPEN
    session.executions -= 1
    session.save(update_fields=["state", "executions"])
    append_event(session, Event.Kind.EXECUTION_FAULT, {"judgement": judgement.pk, "fault": judgement.fault})


def _close_with_verdict(session: Session, judgement: Judgement) -> None:
    solved = judgement.verdict == judge.Verdict.AC
    now = timezone.now()
    data = {
        "judgement": judgement.pk,
        "verdict": judgement.verdict,
        "passed": judgement.passed,
        "total": judgement.total,
        "samples_only": session.problem is not None and session.problem.samples_only,
        "policy": judgement.policy,
        "judge_version": (judgement.result or {}).get("judge_version"),
        "isolation": (judgement.result or {}).get("isolation"),
        **_decisive_test(judgement),
    }
    append_event(session, Event.Kind.VERDICT, data, at=now)
    session.state = Session.State.CLOSED
    session.outcome = Session.Outcome.SOLVED if solved else Session.Outcome.NOT_SOLVED
    session.closed_at = now
    session.save(update_fields=["state", "outcome", "closed_at"])
    append_event(session, Event.Kind.CLOSED, {"reason": "executed", "outcome": session.outcome}, at=now)
    check_once_closed(session)
    request_scores(session)


def _decisive_test(judgement: Judgement) -> dict[str, Any]:
    """Number (from 1) and CPU seconds of the first test that failed; of a right program the time of its slowest."""
    tests = (judgement.result or {}).get("tests", [])
    for number, test in enumerate(tests, start=1):
        if test["verdict"] != judge.Verdict.AC:
            return {"failed_test": number, "time": test["time"]}
    return {"failed_test": None, "time": max((test["time"] for test in tests if test["time"]), default=None)}
