"""The one execution of a session on the hidden tests with its verdict, and sample runs, which spend no execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

import judge
from benchmark.judging import EXECUTIONS, enqueue, request_judgement, store_submission
from benchmark.models import Judgement, Problem
from tutoring.actions.base import SessionAction
from tutoring.checks.checking import check_after_commit
from tutoring.models import Session
from tutoring.models.payloads import (
    ExecutionFailed,
    ExecutionRequested,
    SampleRunFinished,
    SampleRunRequested,
    SessionClosed,
    VerdictRecorded,
)
from tutoring.scores.growth import request_growth
from tutoring.scores.program_scores import request_scores
from tutoring.sessions.assignments import end_assignment, speed_scope
from tutoring.sessions.context import SessionContext
from tutoring.sessions.recording import append_event


@dataclass(frozen=True, kw_only=True)
class Execute(SessionAction):
    """An action that judges the latest program on the hidden tests. The verdict ends the session (docs/spec.md 8.1)."""

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("execute")
        program, reply = context.programs[-1]
        assert session.problem is not None
        assert reply.code is not None
        submission = store_submission(session.problem, reply.code, session.language)
        judgement = request_judgement(submission, requested_by=self.person, speed_scope=speed_scope(session))
        session.judgement = judgement
        session.state = Session.State.JUDGING
        session.save(update_fields=["judgement", "state"])
        payload = ExecutionRequested(generation=reply.generation, program=program.seq, judgement=judgement.pk)
        enqueue(judgement, EXECUTIONS)  # first: after the commit it precedes the notification of the page
        append_event(session, payload, actor=self.person, command=self.command)


@dataclass(frozen=True, kw_only=True)
class RunSamples(SessionAction):
    """An action that runs the latest program on the samples, if the protocol allows it.

    The session continues meanwhile.
    """

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("run_samples")
        program, reply = context.programs[-1]
        assert session.problem is not None
        assert reply.code is not None
        judgement = request_judgement(
            store_submission(session.problem, reply.code, session.language),
            suite=Judgement.TestScope.SAMPLES,
            stop_at_first_failure=False,
            requested_by=self.person,
            speed_scope=speed_scope(session),
        )
        session.sample_judgement = judgement
        session.save(update_fields=["sample_judgement"])
        payload = SampleRunRequested(generation=reply.generation, program=program.seq, judgement=judgement.pk)
        enqueue(judgement, EXECUTIONS)  # first: after the commit it precedes the notification of the page
        append_event(session, payload, actor=self.person, command=self.command)


def record_sample_result(judgement: Judgement) -> None:
    """Record a finished run on the samples in the session that waits for it. A closed session records nothing more."""
    waiting = Session.objects.filter(sample_judgement=judgement).values_list("pk", flat=True)
    for session_id in waiting:
        with transaction.atomic():
            session = Session.objects.get_locked(session_id)
            if session.sample_judgement_id != judgement.pk:
                continue
            session.sample_judgement = None
            session.save(update_fields=["sample_judgement"])
            if session.state != Session.State.CLOSED:
                append_event(session, _sample_result(judgement))


def _sample_result(judgement: Judgement) -> SampleRunFinished:
    failed = judgement.state == Judgement.State.FAILED
    tests = (judgement.result or {}).get("tests", [])
    return SampleRunFinished(
        judgement=judgement.pk,
        verdict=None if failed else judge.Verdict(judgement.verdict),
        passed=None if failed else judgement.passed,
        total=None if failed else judgement.total,
        failed=[]
        if failed
        else [number for number, test in enumerate(tests, start=1) if test["verdict"] != judge.Verdict.AC],
        fault=judgement.fault if failed else "",
    )


def record_verdict(judgement: Judgement, **_: Any) -> None:
    """Record a finished judgement in the session that waits for it, if there is one.

    A verdict closes the session. After a judge fault the execution does not count and the session is open again.
    """
    if judgement.suite == Judgement.TestScope.SAMPLES:
        record_sample_result(judgement)
        return
    waiting = Session.objects.filter(judgement=judgement, state=Session.State.JUDGING).values_list(
        "pk", flat=True
    )
    for session_id in waiting:
        with transaction.atomic():
            session = Session.objects.get_locked(session_id)
            if session.state != Session.State.JUDGING or session.judgement_id != judgement.pk:
                continue
            if judgement.state == Judgement.State.FAILED:
                _reopen(session, judgement)
            else:
                _close_with_verdict(session, judgement)


def _reopen(session: Session, judgement: Judgement) -> None:
    session.state = Session.State.OPEN
    session.save(update_fields=["state"])
    append_event(session, ExecutionFailed(judgement=judgement.pk, fault=judgement.fault))


def verdict_of(judgement: Judgement, problem: Problem | None) -> VerdictRecorded:
    """Return what a session records of a finished judgement."""
    result = judgement.result or {}
    failed_test, time = _decisive_test(judgement)
    return VerdictRecorded(
        judgement=judgement.pk,
        verdict=judge.Verdict(judgement.verdict),
        passed=judgement.passed,
        total=judgement.total,
        samples_only=problem is not None and problem.samples_only,
        policy=judgement.policy,
        judge_version=result.get("judge_version"),
        isolation=result.get("isolation"),
        failed_test=failed_test,
        time=time,
        near_limit=judgement.near_limit,
        time_factor=judgement.time_factor,
    )


def _close_with_verdict(session: Session, judgement: Judgement) -> None:
    now = timezone.now()
    verdict = verdict_of(judgement, session.problem)
    append_event(session, verdict, at=now)
    solved = verdict.verdict == judge.Verdict.AC
    outcome = Session.Outcome.SOLVED if solved else Session.Outcome.NOT_SOLVED
    session.state = Session.State.CLOSED
    session.outcome = outcome
    session.closed_at = now
    session.save(update_fields=["state", "outcome", "closed_at"])
    append_event(session, SessionClosed(reason="executed", outcome=outcome), at=now)
    end_assignment(session, now)
    check_after_commit(session)
    request_scores(session)
    request_growth(session)


def _decisive_test(judgement: Judgement) -> tuple[int | None, float | None]:
    """Return the number (from 1) and the CPU seconds of the first test that failed.

    If none failed, return None and the time of the slowest test.
    """
    tests = (judgement.result or {}).get("tests", [])
    for number, test in enumerate(tests, start=1):
        if test["verdict"] != judge.Verdict.AC:
            return number, test["time"]
    return None, max((test["time"] for test in tests if test["time"]), default=None)
