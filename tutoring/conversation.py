"""What a page shows of a session: read from its events, in two cuts.

`TutorView` is all that a blind tutor's page and socket may hold: no model name, price, token count, latency
or hidden test. Reviewers read the whole record (`tutoring.trajectory`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string

import judge
from benchmark.models import Problem
from benchmark.rendering import highlight, render_markdown
from tutoring.actions.session_action import Situation
from tutoring.budgets import Budget
from tutoring.models import Event, Reply, Session
from tutoring.protocols import Rules

SHOWN_TO_TUTORS = (
    Event.Kind.OPENED,
    Event.Kind.MESSAGE,
    Event.Kind.REPLY,
    Event.Kind.REPLY_FAILED,
    Event.Kind.EXECUTION,
    Event.Kind.EXECUTION_FAULT,
    Event.Kind.VERDICT,
    Event.Kind.CLOSED,
    Event.Kind.INVALIDATED,
)


@dataclass(frozen=True)
class EventView:
    """One event as a tutor sees it: `fields` depends on the kind and is a closed set (see `_fields`)."""

    seq: int
    kind: str
    fields: dict[str, Any]

    @property
    def html(self) -> str:
        """The event as the page shows it."""
        return render_to_string(
            f"tutoring/events/{self.kind}.html", {"seq": self.seq, "kind": self.kind, **self.fields}
        )


@dataclass(frozen=True)
class ActiveReply:
    """The reply that is being written: its text so far, and up to which piece."""

    id: int
    attempt: int
    seq: int
    text: str


@dataclass(frozen=True)
class Program:
    """The latest program of the session."""

    generation: int
    code: str
    html: str


@dataclass(frozen=True)
class TutorView:
    """Everything the tutor's page of one session may show."""

    session: Session
    problem: Problem
    rules: Rules
    budget: Budget
    events: list[EventView]
    last_seq: int
    active_reply: ActiveReply | None
    latest_program: Program | None
    draft: str
    scripted: bool
    may: dict[str, bool]
    why_not: dict[str, str]
    fresh: bool
    """Nothing has been said yet: the first message may be empty and asks for the first program."""


def tutor_view(session: Session) -> TutorView:
    """Read the session as its tutor may see it. The session must have been held here (not imported)."""
    situation = Situation.of(session)
    assert session.problem is not None
    why_not = _why_not(situation)
    return TutorView(
        session=session,
        problem=session.problem,
        rules=situation.rules,
        budget=situation.budget,
        events=[event_view(event) for event in situation.events if event.kind in SHOWN_TO_TUTORS],
        last_seq=situation.events[-1].seq if situation.events else 0,
        active_reply=active_reply(unfinished) if (unfinished := situation.unfinished_reply) else None,
        latest_program=_program(situation),
        draft=getattr(getattr(session, "draft", None), "text", ""),
        scripted=session.scripted,
        may={action: not reason for action, reason in why_not.items()},
        why_not=why_not,
        fresh=not any(event.kind == Event.Kind.MESSAGE for event in situation.events),
    )


def _program(situation: Situation) -> Program | None:
    event = situation.latest_program
    if event is None:
        return None
    code = event.data["code"]
    return Program(event.data["generation"], code, highlight(code, situation.session.language))


def active_reply(reply: Reply) -> ActiveReply:
    """The reply in the making with its text so far."""
    deltas = list(reply.deltas.filter(attempt=reply.attempt).order_by("seq"))
    return ActiveReply(
        id=reply.pk,
        attempt=reply.attempt,
        seq=deltas[-1].seq if deltas else 0,
        text="".join(delta.text for delta in deltas),
    )


def event_view(event: Event) -> EventView:
    """The event in the tutor's cut."""
    return EventView(seq=event.seq, kind=event.kind, fields=_fields(event))


def _fields(event: Event) -> dict[str, Any]:
    data = event.data
    match event.kind:
        case Event.Kind.MESSAGE:
            return {"mode": data["mode"], "text": data["text"], "html": render_markdown(data["text"])}
        case Event.Kind.REPLY:
            return {
                "html": render_markdown(data["text"]),
                "generation": data["generation"],
                "uninvited": data["generation"] is not None and not data["code_requested"],
                "stopped": data["stopped"],
                "cut": data["finish_reason"] == "length",
            }
        case Event.Kind.EXECUTION:
            return {"generation": data["generation"]}
        case Event.Kind.VERDICT:
            verdict = judge.Verdict(data["verdict"])
            return {
                "verdict": verdict,
                "meaning": judge.VERDICT_MEANING[verdict],
                "samples_only": data["samples_only"],
            }
        case Event.Kind.CLOSED:
            return {"reason": data["reason"], "outcome": data["outcome"]}
        case Event.Kind.INVALIDATED:
            return {"reason": data["reason"]}
        case _:
            return {}


def _why_not(situation: Situation) -> dict[str, str]:
    """For each command: the sentence that says why it is not possible now, or nothing."""
    session, budget = situation.session, situation.budget
    if session.state == Session.State.CLOSED:
        closed = "This session is closed."
        return dict.fromkeys(("send", "ask_again", "stop", "execute", "close"), closed)
    if session.state == Session.State.JUDGING:
        judging = "The program is being executed; the session ends with its verdict."
        return dict.fromkeys(("send", "ask_again", "stop", "execute", "close"), judging)
    replying = "The model is still replying." if situation.unfinished_reply is not None else ""
    used = "" if budget.code_generations_left else "All generations of code are used."
    failed = situation.last_reply_failed
    return {
        "send": replying or used or ("The last reply failed: ask for it again." if failed else ""),
        "ask_again": replying or used or ("" if failed else "The last reply did not fail."),
        "stop": (
            "There is nothing to stop."
            if not replying
            else ""
            if budget.stops_used < budget.stops_limit
            else "No more replies can be stopped in this session."
        ),
        "execute": replying
        or ("" if situation.latest_program else "There is no program yet.")
        or ("" if budget.executions_left else "The execution is used."),
        "close": replying,
    }


def session_for_tutor(session_id: UUID, tutor_pk: int) -> Session:
    """The tutor's own session. Anybody else's does not exist (Session.DoesNotExist): none can be guessed."""
    return Session.objects.select_related("problem__dataset", "protocol", "draft").get(
        pk=session_id, tutor_id=tutor_pk, origin=Session.Origin.TUTORED
    )
