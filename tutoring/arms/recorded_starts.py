"""Yoked chains: each begins with the first program of a session of a person, and ends after as many generations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from benchmark.methods import Chain, PlannedRun, SettingsError
from benchmark.models import LanguageModel
from benchmark.providers import Parameters
from tutoring.arms.human_sessions import ErasedMessagesError, yokable_sessions
from tutoring.models import Event, Protocol, Session
from tutoring.models.payloads import (
    AnyPayload,
    ReplyFinished,
    SessionOpened,
)

STARTS = "from_first"
"""The key of the starts in the record of a run: by problem, the session and generations of each chain."""

SESSIONS_LEFT_OUT = "sessions_left_out"
"""The key of the reasons, by session, why no chain begins with it."""

_COPIED = {Event.Kind.MESSAGE, Event.Kind.REPLY}


@dataclass(frozen=True)
class RecordedStart:
    """The beginning of a session of a person: its messages and replies up to the first program."""

    session: str
    generations: int
    """The number of code generations that the session used."""
    payloads: tuple[AnyPayload, ...]


async def recorded_start(chain: Chain) -> RecordedStart | None:
    """Return the beginning of the chain; None if the run is not yoked. Raises ErasedMessagesError."""
    starts: Mapping[str, Sequence[Mapping[str, Any]]] | None = chain.prepared.get(STARTS)
    if starts is None:
        return None
    start = starts[chain.task.id][chain.number]
    sessions = [UUID(one["session"]) for of_problem in starts.values() for one in of_problem]
    payloads = await chain.read_once("beginnings of sessions", lambda: _beginnings(sessions))
    if not payloads[start["session"]]:
        raise ErasedMessagesError
    return RecordedStart(start["session"], start["generations"], payloads[start["session"]])


def _beginnings(sessions: Sequence[UUID]) -> dict[str, tuple[AnyPayload, ...]]:
    found: dict[str, list[AnyPayload]] = {str(session): [] for session in sessions}
    complete: set[str] = set()
    events = Event.objects.filter(session__in=sessions, kind__in=_COPIED).order_by("session", "seq")
    for event in events:
        name = str(event.session_id)
        if name not in complete:
            found[name].append(event.payload)
            if isinstance(event.payload, ReplyFinished) and event.payload.generation is not None:
                complete.add(name)
    return {name: tuple(payloads) for name, payloads in found.items()}


def samples_like(model: LanguageModel, parameters: Parameters) -> bool:
    """Return whether the model has these parameters. Extra request fields, which no setting has, are not compared."""
    return {
        name: value for name, value in model.parameters.items() if name != "extra"
    } == parameters.to_json()


def plan_starts(
    planned: PlannedRun, protocol: Protocol, text: str, most: int | None
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str], dict[str, str]]:
    """Return the starts by problem, the reasons of problems without any, and the reasons of sessions left out.

    `most` is the largest number of starts at a problem (None: no limit): those of the sessions opened first.
    Raises SettingsError if no session is left.
    """
    starts: dict[str, list[dict[str, Any]]] = {}
    left_out: dict[str, str] = {}
    known = {problem.pk: problem.external_id for problem in planned.problems}
    sessions = yokable_sessions(text).filter(problem__in=known).select_related("problem", "protocol", "model")
    for session in sessions.prefetch_related("events"):
        name = known[session.problem_id or 0]
        if reason := _unfit(session, planned, protocol):
            left_out[str(session.pk)] = reason
        elif len(starts.get(name, ())) == most:
            left_out[str(session.pk)] = (
                f"yoked_chains={most}: earlier sessions begin the chains of its problem"
            )
        else:
            start = {"session": str(session.pk), "generations": session.code_generations}
            starts.setdefault(name, []).append(start)
    if not starts:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise SettingsError(
            f"from_first={text}: no session of a person on the chosen problems can begin a chain. "
            + (f"Left out: {reasons}." if reasons else "No session fits.")
        )
    without = {
        name: "it has no session of a person to begin with" for name in known.values() if name not in starts
    }
    return starts, without, left_out


def _unfit(session: Session, planned: PlannedRun, protocol: Protocol) -> str:
    """Return why no chain can begin with the session; blank if one can."""
    assert session.protocol is not None
    assert session.problem is not None
    if session.protocol.content_hash != protocol.content_hash:
        return f"its protocol is {session.protocol}, not {protocol}"
    if session.model_spec != str(planned.spec):
        return f"its model is {session.model_spec}, not {planned.spec}"
    if session.model and not samples_like(session.model, planned.settings.parameters):
        return f"its model {session.model} has other parameters"
    payloads = [event.payload for event in session.events.all()]
    opened = next((one for one in payloads if isinstance(one, SessionOpened)), None)
    if opened is None or opened.problem_hash != session.problem.content_hash:
        return "its problem has changed since"
    return _start_fault(payloads)


def _start_fault(payloads: Iterable[AnyPayload]) -> str:
    """Return why the events up to the first program cannot begin a chain; blank if they can."""
    for payload in payloads:
        if isinstance(payload, ReplyFinished):
            if payload.stopped:
                return "a reply before its first program was stopped"
            if payload.generation is not None:
                return ""
    return "it has no program"
