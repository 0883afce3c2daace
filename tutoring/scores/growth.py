"""Growth curves of a session's programs, for its tutor and its reviewers after the session.

A protocol may show them during the session (`show_growth`).
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.growth import NoSizesError, enqueue_curve, request_curve
from benchmark.judging import store_submission
from benchmark.models import GrowthCurve, Submission
from tutoring.models import Event, Session
from tutoring.models.payloads import ReplyFinished


@dataclass(frozen=True)
class SessionProgram:
    """A program of a session: the number of its generation, and its newest growth curve (None: not requested)."""

    generation: int
    code: str
    curve: GrowthCurve | None


def request_growth(session: Session) -> None:
    """Request the growth of each program of a session whose problem has generators by size.

    Workers measure it when no other work is waiting.
    """
    try:
        for submission in _submissions(session).values():
            enqueue_curve(request_curve(submission))
    except NoSizesError:
        return


def session_programs(session: Session) -> list[SessionProgram]:
    """Return the programs of a session in order, each with its newest growth curve."""
    programs = _programs(session)
    if session.problem is None or not programs:
        return []
    stored = Submission.objects.filter(
        problem=session.problem, language=session.language, source__in=programs.values()
    )
    curves = {
        curve.submission.source: curve
        for curve in GrowthCurve.objects.filter(submission__in=stored)
        .select_related("submission__problem__dataset")
        .order_by("pk")
    }
    return [SessionProgram(number, code, curves.get(code)) for number, code in programs.items()]


def _submissions(session: Session) -> dict[int, Submission]:
    if session.problem is None:
        return {}
    return {
        number: store_submission(session.problem, code, session.language)
        for number, code in _programs(session).items()
    }


def _programs(session: Session) -> dict[int, str]:
    """Return the programs by the number of their generation."""
    payloads = [event.payload_as(ReplyFinished) for event in session.events.filter(kind=Event.Kind.REPLY)]
    return {reply.generation: reply.code for reply in payloads if reply.generation is not None and reply.code}
