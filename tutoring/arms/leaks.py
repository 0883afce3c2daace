"""The method `leak`: whether a tutor's messages alone, without any program, solve the problem for the student's model.

A hint about the student's program is useless without that program; a solution is not. For each session some chains show
its messages after the statement, and as many chains of each problem show the statement alone (docs/automatic-tutor.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from pydantic.dataclasses import dataclass

from benchmark.methods import Chain, Example, Method, MethodSettings, PlannedRun, Preparation, SettingsError
from benchmark.methods.settings import Text, option
from benchmark.models import Generation
from benchmark.prompts import Prompt, VisibleProblem
from benchmark.providers import Message
from tutoring.arms.human_sessions import FORM, ErasedMessagesError, yokable_sessions
from tutoring.arms.recorded_starts import SESSIONS_LEFT_OUT, samples_like
from tutoring.arms.settings import check_world
from tutoring.models import Event, Session
from tutoring.models.payloads import MessageSent, SessionOpened
from tutoring.models.sessions import SessionQuerySet
from tutoring.sessions.dialogue import opening_prompt, prompt_texts, sent_text

LEAK = "leak"
"""The name of the method."""

LEAKS = "leaks"
"""The key of the sessions in the record of a run: for each problem the ids of the sessions whose messages are shown."""

SHOWN = (
    "Another student got these messages from a tutor. They may refer to programs of that student, which you do not "
    "see.\n\n{messages}"
)

_OF_RUN = "run="


@dataclass(frozen=True)
class LeakSettings(MethodSettings):
    """Settings of the sessions and of the number of draws. The default sampling is that of sessions: the provider's."""

    temperature: float | None = option(
        None, "randomness of the replies; none leaves it to the provider", ge=0, le=2
    )
    max_output_tokens: int | None = option(None, "longest reply; none leaves it to the provider", ge=1)
    of: Text = option(
        "all",
        "sessions whose messages are shown: run=ID of an arm, or sessions of people: all, or conditions such as "
        "attempt=first,protocol=usaco-2024",
    )
    draws: int = option(4, "draws of each session, and of each statement alone", ge=1, le=64)


def shown_session(prepared: Mapping[str, Any], problem: str, chain: int) -> str | None:
    """Return the session whose messages the chain shows; None: the statement alone.

    Draws of the statement and of all sessions alternate: a change of the model during the run affects them alike.
    """
    sessions: Sequence[str] = prepared[LEAKS][problem]
    at = chain % (1 + len(sessions))
    return sessions[at - 1] if at else None


def chains_showing(prepared: Mapping[str, Any], sessions: set[str]) -> Iterator[tuple[str, int]]:
    """Yield problem and chain of the chains of a run that show the messages of one of the sessions."""
    for problem, shown in prepared.get(LEAKS, {}).items():
        for chain in range(prepared["draws"] * (1 + len(shown))):
            if shown_session(prepared, problem, chain) in sessions:
                yield problem, chain


def leak_prompt(task: VisibleProblem, language: str, messages: Sequence[str]) -> Prompt:
    """Return the prompt with the statement and the messages."""
    text = SHOWN.format(messages="\n\n".join(messages)) if messages else ""
    content = f"{opening_prompt(task, language)}\n\n{sent_text(text, 'code', language)}"
    return Prompt((Message("user", content),), _template_hash())


def _texts() -> Mapping[str, str]:
    return {f"session/{name}": text for name, text in prompt_texts().items()} | {"leak/shown": SHOWN}


@cache
def _template_hash() -> str:
    texts = _texts()
    return hashlib.sha256("\n".join(f"{key}\n{texts[key]}" for key in sorted(texts)).encode()).hexdigest()


async def _solve(chain: Chain, settings: LeakSettings) -> Generation:
    session = shown_session(chain.prepared, chain.task.id, chain.number)
    messages: tuple[str, ...] = ()
    if session is not None:
        wanted = [UUID(one) for shown in chain.prepared[LEAKS].values() for one in shown]
        found = await chain.read_once("messages of sessions", lambda: _messages(wanted))
        if session not in found:
            raise ErasedMessagesError
        messages = found[session]
    prompt = leak_prompt(chain.task, settings.language, messages)
    return await chain.request(prompt, Generation.Purpose.SOLVE)


def _messages(sessions: Sequence[UUID]) -> dict[str, tuple[str, ...]]:
    """Return the messages that the tutors of the sessions typed; erased sessions are missing."""
    found: dict[str, tuple[str, ...]] = {}
    events = Event.objects.filter(session__in=sessions, kind=Event.Kind.MESSAGE).order_by("session", "seq")
    for event in events:
        text = event.payload_as(MessageSent).text.strip()
        key = str(event.session_id)
        found[key] = (*found.get(key, ()), *([text] if text else []))
    return found


def prepare_leaks(planned: PlannedRun) -> Preparation:
    """Choose the sessions. Raises SettingsError before anything is paid for."""
    settings: LeakSettings = planned.settings
    if planned.spec.provider == "simulated":
        check_world(planned.spec.model)
    if settings.prompts is not None:
        raise SettingsError(
            "prompts: the prompts of sessions are those of the tutors' pages. Leave the setting out."
        )
    if planned.states_chains:
        raise SettingsError(
            "leak: the sessions and the setting draws determine the number of chains. Leave --attempts and --epochs "
            "out."
        )
    known = {problem.pk: problem.external_id for problem in planned.problems}
    shown: dict[str, list[str]] = {}
    without: dict[str, str] = {}
    sessions = _sessions(settings.of).filter(problem__in=known).select_related("problem", "protocol", "model")
    for session in sessions.order_by("problem", "opened_at", "pk").prefetch_related("events"):
        if reason := _unfit(session, planned):
            without[str(session.pk)] = reason
        else:
            shown.setdefault(known[session.problem_id or 0], []).append(str(session.pk))
    if not shown:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in without.items())
        raise SettingsError(
            f"of={settings.of}: there is no session on the chosen problems whose leaks can be measured. "
            + (f"Left out: {reasons}." if reasons else "No session fits.")
        )
    reason = "it has no session whose leaks are measured"
    left_out = {one.external_id: reason for one in planned.problems if one.external_id not in shown}
    record = {LEAKS: shown, SESSIONS_LEFT_OUT: without, "draws": settings.draws}
    chains = {name: settings.draws * (1 + len(of_problem)) for name, of_problem in shown.items()}
    return Preparation(settings, left_out, record, chains)


def _sessions(text: str) -> SessionQuerySet:
    """Return the sessions that fit the text. Raises SettingsError."""
    if not text.startswith(_OF_RUN):
        return yokable_sessions(text)
    try:
        run = UUID(text.removeprefix(_OF_RUN))
    except ValueError:
        raise SettingsError(f"of={text}: write run=ID with the whole id of a run of an arm. {FORM}") from None
    return Session.objects.filter(
        work_item__run=run, origin=Session.Origin.AUTOMATIC, state=Session.State.CLOSED, invalidated=False
    )


def _unfit(session: Session, planned: PlannedRun) -> str:
    """Return why the leaks of the session cannot be measured with the run's model; blank if they can."""
    if session.model_spec != str(planned.spec):
        return f"its student is {session.model_spec}, not {planned.spec}"
    if session.model and not samples_like(session.model, planned.settings.parameters):
        return f"its student {session.model} has other parameters"
    if session.language != planned.settings.language:
        return f"its language is {session.language}, not {planned.settings.language}"
    assert session.problem is not None
    opened = next((event for event in session.events.all() if event.kind == Event.Kind.OPENED), None)
    if opened is None or opened.payload_as(SessionOpened).problem_hash != session.problem.content_hash:
        return "its problem has changed since"
    return ""


def _example() -> Example:
    session = str(UUID(int=0))
    return Example(
        {LEAKS: {"0": [session]}, "draws": 1}, {"messages of sessions": {session: ("Try again.",)}}
    )


METHOD = Method(
    name=LEAK,
    summary="Show a tutor's messages without any program: the leak index of sessions is computed from it.",
    source="leak index of tutoring studies",
    warning="A measurement of leaks: the model was shown messages of tutors. Not a score of a method.",
    settings_classes=(LeakSettings,),
    templates=lambda _settings: (),
    needs_analysis=False,
    needs_verifier=False,
    needs_outputs=False,
    in_usaco_paper=False,
    scoring="pass",
    solve=_solve,
    prepare=prepare_leaks,
    texts=_texts,
    fresh_draws=True,
    example=_example,
)
