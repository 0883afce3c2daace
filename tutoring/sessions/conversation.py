"""What a page shows of a session: read from its events, in two cuts.

`TutorView` is all that a blind tutor's page and socket may hold: no model name, price, token count, latency
or hidden test. Reviewers read the whole record (`tutoring.trajectories.trajectory`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.template.loader import render_to_string

import judge
from benchmark.extraction import without_blocks
from benchmark.models import Problem
from benchmark.rendering import highlight, program_diff, render_markdown
from tutoring.models import Draft, Event, Reply, ReplyDelta, Session
from tutoring.protocols import Rules, TutorSees, rules_of
from tutoring.sessions.budgets import Budget
from tutoring.sessions.programs import unchanged
from tutoring.sessions.session_action import Situation

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
    """One event as a tutor sees it: `fields` depends on the kind and is a closed set (see `_fields`).

    `seq` counts what is shown: gaps would tell of events that are not, such as a call that was repeated.
    """

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
    """The latest program of the session, and what has changed since the one before it."""

    generation: int
    html: str
    previous: int | None
    """The generation before; None for the first program."""
    unchanged: bool
    """The same as the previous one but for comments and blanks."""
    diff: str


@dataclass(frozen=True)
class Standing:
    """How a session stands, as its tutor may know it. Named like the columns, for the same template."""

    state: str
    outcome: str
    invalidated: bool
    outcome_claimed: ClassVar[bool] = False  # only imported records claim, and they have no tutor here

    def get_state_display(self) -> str:
        return str(Session.State(self.state).label)

    def get_outcome_display(self) -> str:
        return str(Session.Outcome(self.outcome).label) if self.outcome else ""


@dataclass(frozen=True)
class TutorView:
    """Everything the tutor's page of one session may show."""

    id: UUID
    number: int
    standing: Standing
    problem: Problem
    rules: Rules
    budget: Budget
    events: list[EventView]
    last_seq: int
    active_reply: ActiveReply | None
    latest_program: Program | None
    draft: str
    draft_revision: int
    scripted: bool
    may: dict[str, bool]
    why_not: dict[str, str]
    fresh: bool
    """Nothing has been said yet: the first message may be empty and asks for the first program."""
    debriefing: bool
    """The session is over and talked about: nothing that is said counts."""


def tutor_view(session: Session, conversation: bool = True) -> TutorView:
    """Read the session as its tutor may see it. The session must have been held here (not imported).

    Without the conversation `events` is empty: rendering it is most of the work, and a page that is open has it.
    """
    situation = Situation.of(session)
    assert session.problem is not None
    why_not = _why_not(situation)
    rules = situation.rules
    draft = getattr(session, "draft", None) or Draft()
    shown = [event for event in situation.events if event.kind in SHOWN_TO_TUTORS]
    return TutorView(
        id=session.pk,
        number=session.number or 1,
        standing=standing_for_tutor(session),
        problem=session.problem,
        rules=rules,
        budget=situation.budget,
        events=[
            event_view(number, event, rules) for number, event in enumerate(shown, start=1) if conversation
        ],
        last_seq=len(shown),
        active_reply=active_reply(unfinished) if (unfinished := situation.unfinished_reply) else None,
        latest_program=_program(situation),
        draft=draft.text,
        draft_revision=draft.revision,
        scripted=session.scripted,
        may={action: not reason for action, reason in why_not.items()},
        why_not=why_not,
        fresh=not any(event.kind == Event.Kind.MESSAGE for event in situation.events),
        debriefing=any(event.out_of_protocol for event in situation.events),
    )


def standing_for_tutor(session: Session) -> Standing:
    """How the session stands. The outcome of an execution is left out where the protocol shows no verdict."""
    assert session.protocol is not None
    shown = rules_of(session.protocol).tutor_sees != "nothing" or session.outcome == Session.Outcome.ABANDONED
    return Standing(session.state, session.outcome if shown else "", session.invalidated)


# The same program is shown again whenever anything changes on the page.
_highlighted = lru_cache(maxsize=256)(highlight)


def _program(situation: Situation) -> Program | None:
    if not situation.programs:
        return None
    *earlier, event = situation.programs
    code, language = event.data["code"], situation.session.language
    previous = earlier[-1] if earlier else None
    return Program(
        generation=event.data["generation"],
        html=_highlighted(code, language),
        previous=previous.data["generation"] if previous else None,
        unchanged=previous is not None and unchanged(code, previous.data["code"], language),
        diff=program_diff(previous.data["code"], code) if previous else "",
    )


def active_reply(reply: Reply) -> ActiveReply:
    """The reply in the making with its text so far; without a word where the tutor may not read along."""
    deltas = list(pieces_after(reply, 0))
    return ActiveReply(
        id=reply.pk,
        attempt=reply.shown_attempt,
        seq=deltas[-1].seq if deltas else 0,
        text="".join(delta.text for delta in deltas),
    )


def pieces_after(reply: Reply, seq: int) -> QuerySet[ReplyDelta]:
    """The pieces of a reply that a tutor may read and does not have yet."""
    if not reply.live:
        return ReplyDelta.objects.none()
    return reply.deltas.filter(attempt=reply.attempt, seq__gt=seq).order_by("seq")


def shown_events(session_id: UUID, after: int) -> list[tuple[int, Event]]:
    """What is shown of the session after its first `after` shown events, each with its number."""
    shown = Event.objects.filter(session_id=session_id, kind__in=SHOWN_TO_TUTORS).order_by("seq")
    return list(enumerate(shown[after:], start=after + 1))


def event_view(seq: int, event: Event, rules: Rules) -> EventView:
    """The event in the tutor's cut, the `seq`-th that is shown."""
    return EventView(seq=seq, kind=event.kind, fields=_fields(event, rules))


def _fields(event: Event, rules: Rules) -> dict[str, Any]:
    data = event.data
    match event.kind:
        case Event.Kind.MESSAGE:
            return {
                "mode": data["mode"],
                "text": data["text"],
                "html": render_markdown(data["text"]),
                "debrief": event.out_of_protocol,
            }
        case Event.Kind.REPLY:
            withheld = bool(data.get("withheld"))
            return {
                "html": render_markdown(
                    without_blocks(data["text"], event.session.language) if withheld else data["text"]
                ),
                "generation": data["generation"],
                "uninvited": data["generation"] is not None and not data["code_requested"],
                "withheld": rules.uninvited_code if withheld else "",
                "stopped": data["stopped"],
                "cut": data["finish_reason"] == "length",
                "debrief": event.out_of_protocol,
            }
        case Event.Kind.EXECUTION:
            return {"generation": data["generation"]}
        case Event.Kind.VERDICT:
            return _verdict_fields(data, rules.tutor_sees)
        case Event.Kind.CLOSED:
            hidden = rules.tutor_sees == "nothing" and data["outcome"] != Session.Outcome.ABANDONED
            return {"reason": data["reason"], "outcome": "" if hidden else data["outcome"]}
        case Event.Kind.INVALIDATED:
            return {"reason": data["reason"]}
        case _:
            return {}


def _verdict_fields(data: dict[str, Any], sees: TutorSees) -> dict[str, Any]:
    """What the protocol's verdict policy lets through."""
    if sees == "nothing":
        return {}
    verdict = judge.Verdict(data["verdict"])
    shown: dict[str, Any] = {"solved": verdict == judge.Verdict.AC, "samples_only": data["samples_only"]}
    if sees in ("verdict", "full"):
        shown |= {"verdict": verdict, "meaning": judge.VERDICT_MEANING[verdict]}
    if sees == "full":
        shown |= {key: data.get(key) for key in ("passed", "total", "failed_test", "time")}
    return shown


def _why_not(situation: Situation) -> dict[str, str]:
    """For each command: the sentence that says why it is not possible now, or nothing."""
    session, budget = situation.session, situation.budget
    commands = ("send", "code", "ask_again", "stop", "execute", "close")
    closed = "This session is closed."
    if session.state == Session.State.JUDGING:
        judging = "The program is being executed; the session ends with its verdict."
        return dict.fromkeys(commands, judging)
    replying = "The model is still replying." if situation.unfinished_reply is not None else ""
    failed = situation.last_reply_failed
    send = replying or ("The last reply failed: ask for it again." if failed else "")
    ask_again = replying or ("" if failed else "The last reply did not fail.")
    if session.state == Session.State.CLOSED:
        stop = "" if replying else "There is nothing to stop."
        debrief = {"send": send, "ask_again": ask_again, "stop": stop} if situation.debrief_open else {}
        return dict.fromkeys(commands, closed) | debrief
    used = "" if budget.code_generations_left else "All generations of code are used."
    return {
        "send": used or send,
        "code": used or send,
        "ask_again": used or ask_again,
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
