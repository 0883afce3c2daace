"""The tutor's view of a session, read from its events.

`PageView` is everything that a blind tutor's page and socket may contain: no model name, price, token count, latency
or hidden test. Reviewers read the whole record (`tutoring.trajectories.trajectory`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Literal
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

import judge
from benchmark.extraction import without_blocks
from benchmark.judging import executions_before, in_progress, share_of_a_person
from benchmark.models import Judgement, Problem
from benchmark.models.owners import is_dead
from benchmark.processes import outage_of
from benchmark.providers import RetryPolicy
from benchmark.rendering import highlight, program_diff, render_markdown
from tutoring.models import Draft, Event, Reply, ReplyDelta, Session
from tutoring.models.payloads import (
    ExecutionRequested,
    MessageSent,
    ModelDraft,
    ReplyFailed,
    ReplyFinished,
    SampleRunFinished,
    SampleRunRequested,
    SessionClosed,
    SessionInvalidated,
    SessionOpened,
    VerdictRecorded,
)
from tutoring.protocols import Rules, TutorSees, rules_of_session
from tutoring.sessions.assignments import is_concealed
from tutoring.sessions.budgets import SessionBudget
from tutoring.sessions.context import OPERATOR_KINDS, Command, SessionContext, is_empty
from tutoring.sessions.masking import Span, mask, names_of
from tutoring.sessions.programs import unchanged
from tutoring.sessions.reply_stream import ReplyStream
from tutoring.sessions.spending import SPENDING_LIMIT

PageCommand = Literal[
    "send", "code", "ask_again", "stop", "run_samples", "request_draft", "insert_draft", "execute", "close"
]
"""Commands of the tutor's page. "send" sends a message that requests no code."""

OUTAGE_PATIENCE = timedelta(seconds=4)
"""How long no streamer may run before a waiting tutor reads of it: a restart takes 2 s."""

SHOWN_TO_TUTORS = (
    Event.Kind.OPENED,
    Event.Kind.MESSAGE,
    Event.Kind.REPLY,
    Event.Kind.REPLY_FAILED,
    Event.Kind.EXECUTION,
    Event.Kind.EXECUTION_FAULT,
    Event.Kind.VERDICT,
    Event.Kind.SAMPLE_RUN,
    Event.Kind.SAMPLE_RESULT,
    Event.Kind.DRAFT_REQUESTED,
    Event.Kind.MODEL_DRAFT,
    Event.Kind.CLOSED,
    Event.Kind.INVALIDATED,
)


@dataclass(frozen=True)
class EventView:
    """One event as a tutor sees it. The set of `fields` depends on the kind alone (see `_fields`).

    `seq` numbers the shown events without gaps: a gap would reveal events such as a repeated provider call.
    """

    seq: int
    kind: str
    at: datetime | None
    """Time of the event in whole minutes: seconds would reveal how fast the model is."""
    minutes: int | None
    """Whole minutes since the start of the session."""
    fields: dict[str, Any]

    @property
    def html(self) -> str:
        """The event as the page shows it."""
        return render_to_string(
            f"tutoring/events/{self.kind}.html",
            {"seq": self.seq, "kind": self.kind, "at": self.at, "minutes": self.minutes, **self.fields},
        )


@dataclass(frozen=True)
class PartialReply:
    """The reply that is being written: its text so far, which ends with chunk `seq`.

    `blocks` are the HTML of the part that is rendered, the first `length` UTF-16 code units of the text; `rest` is the
    text after them.
    """

    id: int
    attempt: int
    seq: int
    text: str
    blocks: tuple[str, ...] = ()
    length: int = 0

    @property
    def rest(self) -> str:
        return self.text.encode("utf-16-le", "surrogatepass")[2 * self.length :].decode(
            "utf-16-le", "replace"
        )


@dataclass(frozen=True)
class ReplyWait:
    """The wait for the active reply, in seconds. None: the page must not show it, or it is unknown."""

    due_in: float | None
    """Until the first word may appear by the protocol's schedule."""
    call: int | None = None
    """The number of the call of the provider, of at most `calls`."""
    calls: int | None = None
    gives_up_in: float | None = None
    """Until the reply fails, unless text arrives before."""
    limit: int | None = None
    """Until the reply fails after text has arrived."""


@dataclass(frozen=True)
class LatestProgram:
    """The latest program of the session, and its difference from the program before it."""

    generation: int
    html: str
    previous: int | None
    """The generation of the program before; None for the first program."""
    programs: list[tuple[int, str]]
    """Number (from 1) and name of each program of the session. Any two can be compared."""
    unchanged: bool
    """Whether it equals the program before, apart from comments and white space."""
    diff: str


@dataclass(frozen=True)
class SessionStatus:
    """State and outcome of a session as its tutor may see them, named like the columns for the same template."""

    state: str
    outcome: str
    invalidated: bool
    outcome_claimed: ClassVar[bool] = (
        False  # only imported records claim an outcome, and they have no tutor here
    )

    def get_state_display(self) -> str:
        return str(Session.State(self.state).label)

    def get_outcome_display(self) -> str:
        return str(Session.Outcome(self.outcome).label) if self.outcome else ""


@dataclass(frozen=True)
class PageView:
    """Everything that the tutor's page of one session may show."""

    id: UUID
    number: int
    opened_at: datetime | None
    status: SessionStatus
    problem: Problem
    rules: Rules
    budget: SessionBudget
    events: list[EventView]
    last_seq: int
    active_reply: PartialReply | None
    wait: ReplyWait | None
    latest_program: LatestProgram | None
    draft: str
    draft_revision: int
    scripted: bool
    """Whether the model is scripted, and the page may say so."""
    refusals: dict[PageCommand, str | None]
    """For each command of the page, the sentence that says why it is refused now; None if it is allowed."""
    fresh: bool
    """Whether no message has been sent. The first one may be empty if it requests code."""
    debriefing: bool
    """Whether the session is closed and the debrief has begun: no message counts."""
    needs_operator: bool
    """Whether only an operator can help after the last reply failed."""
    waiting: str
    """Why the judge has not begun with the submitted program, in words; empty otherwise."""
    outage: datetime | None
    """Since when no process can write the reply that the tutor waits for; None if one can."""
    draft_underway: bool
    """Whether the tutor model writes a draft of the next message."""

    @property
    def may(self) -> dict[PageCommand, bool]:
        """For each command of the page, whether it is allowed now."""
        return {command: refusal is None for command, refusal in self.refusals.items()}

    @property
    def status_html(self) -> str:
        """The parts of the page that change with every event: budget, composer state and latest program."""
        return render_to_string("tutoring/_status.html", {"view": self})


def tutor_view(session: Session, conversation: bool = True) -> PageView:
    """Return the session as its tutor may see it. Raises RefusedError for an imported session.

    With `conversation=False`, `events` and the text of the active reply are empty: rendering them is most of the work,
    and an open page has them.
    """
    context = SessionContext.of(session)
    assert session.problem is not None
    rules = context.rules
    draft = getattr(session, "draft", None) or Draft()
    shown = [event for event in context.events if event.kind in SHOWN_TO_TUTORS]
    unfinished = context.unfinished_reply
    outage = reply_outage(unfinished) if unfinished else None
    return PageView(
        id=session.pk,
        number=session.number or 1,
        opened_at=session.opened_at,
        status=_status(session, rules),
        problem=session.problem,
        rules=rules,
        budget=context.budget,
        events=[
            event_view(number, event, rules) for number, event in enumerate(shown, start=1) if conversation
        ],
        last_seq=len(shown),
        active_reply=_active_reply_of(session, unfinished, conversation) if unfinished else None,
        wait=(ReplyWait(None) if outage else reply_wait(unfinished, rules)) if unfinished else None,
        latest_program=_program(context),
        draft=draft.text,
        draft_revision=draft.revision,
        scripted=session.scripted and not is_concealed(session),
        refusals=page_refusals(context),
        fresh=not any(event.kind == Event.Kind.MESSAGE for event in context.events),
        debriefing=context.debriefing,
        needs_operator=context.needs_operator,
        waiting=waiting_for_judge(session),
        outage=outage,
        draft_underway=context.draft_underway,
    )


def waiting_for_judge(session: Session) -> str:
    """Return the sentence that says why the judge has not begun with the submitted program; empty otherwise."""
    judgement = session.judgement if session.state == Session.State.JUDGING else None
    if judgement is None or judgement.state != Judgement.State.QUEUED:
        return ""
    person = judgement.requested_by_id
    if person is not None and in_progress(person, timezone.now()) >= share_of_a_person():
        return "It waits for the verdict of another session of yours."
    before = executions_before(judgement)
    if before == 0:
        return "It is the next one."
    return f"{before} {'submission is' if before == 1 else 'submissions are'} ahead of it."


def page_refusals(context: SessionContext) -> dict[PageCommand, str | None]:
    """Return the refusal of each command of the page; the mode of "send" depends on the state of the session."""
    mode: Command = "debrief" if context.session.state == Session.State.CLOSED else "talk"
    commands: dict[PageCommand, Command] = {
        "send": mode,
        "code": "code",
        "ask_again": "ask_again",
        "stop": "stop",
        "run_samples": "run_samples",
        "request_draft": "request_draft",
        "insert_draft": "insert_draft",
        "execute": "execute",
        "close": "close",
    }
    return {name: context.refusal(command) for name, command in commands.items()}


def status_for_tutor(session: Session) -> SessionStatus:
    """Return the status of the session. The outcome is empty if the protocol hides the verdict it comes from."""
    return _status(session, rules_of_session(session))


def _status(session: Session, rules: Rules) -> SessionStatus:
    outcome = session.seen_outcome
    shown = rules.tutor_sees != "nothing" or outcome == Session.Outcome.ABANDONED
    return SessionStatus(session.state, outcome if shown else "", session.invalidated)


# Every change of the page shows the same program again.
_highlighted = lru_cache(maxsize=256)(highlight)


def _program(context: SessionContext) -> LatestProgram | None:
    if not context.programs:
        return None
    *earlier, (_, latest) = context.programs
    code, language = latest.code or "", context.session.language
    previous = earlier[-1][1] if earlier else None
    before = previous.code or "" if previous else ""
    return LatestProgram(
        generation=latest.generation or 0,
        html=_highlighted(code, language),
        previous=previous.generation if previous else None,
        programs=_named_programs(context),
        unchanged=previous is not None and unchanged(code, before, language),
        diff=program_diff(before, code) if previous else "",
    )


@dataclass(frozen=True)
class ProgramComparison:
    """Two programs of a session by their numbers, from 1, and the difference between them."""

    programs: list[tuple[int, str]]
    """Number and name of each program of the session."""
    old: int
    new: int
    diff: str


def compare_programs(session: Session, old: int, new: int) -> ProgramComparison | None:
    """Return the difference between two programs of the session; None if it has no programs with these numbers."""
    context = SessionContext.of(session)
    programs = [reply.code or "" for _, reply in context.programs]
    if not (1 <= old <= len(programs) and 1 <= new <= len(programs)):
        return None
    return ProgramComparison(
        programs=_named_programs(context),
        old=old,
        new=new,
        diff=program_diff(programs[old - 1], programs[new - 1]),
    )


def _named_programs(context: SessionContext) -> list[tuple[int, str]]:
    return [
        (number, f"generation {reply.generation}" if reply.generation else f"program {number}, not counted")
        for number, (_, reply) in enumerate(context.programs, start=1)
    ]


def _active_reply_of(session: Session, reply: Reply, conversation: bool) -> PartialReply:
    if not conversation:
        return PartialReply(id=reply.pk, attempt=reply.shown_attempt, seq=0, text="")
    return active_reply(reply, ReplyStream(names_of(session)))


def reply_wait(reply: Reply, rules: Rules) -> ReplyWait:
    """Return how long the tutor waits for the reply. A blind protocol shows its frozen schedule and nothing else."""
    now = timezone.now()
    due_in = None if reply.shown_from is None else max(0.0, (reply.shown_from - now).total_seconds())
    if rules.is_blind or reply.gives_up_at is None:
        return ReplyWait(due_in)
    gives_up_in = max(0.0, (reply.gives_up_at - now).total_seconds())
    return ReplyWait(due_in, reply.calls, RetryPolicy.attempts, gives_up_in, settings.REPLY_TIMEOUT)


def reply_outage(reply: Reply) -> datetime | None:
    """Return since when no streamer runs that could write this unfinished reply; None if one runs.

    It says nothing about the model, so blind pages show it too. A reply with a living streamer costs no query.
    """
    now = timezone.now()
    held = reply.state == Reply.State.STREAMING and reply.lease_until is not None and reply.lease_until >= now
    if held and not is_dead(reply.owner):
        return None
    outage = outage_of("streamer")
    if outage is None:
        return None
    since = outage.since or reply.message.at
    return since if since is not None and now - since >= OUTAGE_PATIENCE else None


def active_reply(reply: Reply, stream: ReplyStream) -> PartialReply:
    """Return the part of the reply that has arrived and may be shown.

    `stream` is a new one, which then continues with the chunks that follow.
    """
    deltas = list(chunks_after(reply, 0))
    text = stream.feed("".join(delta.text for delta in deltas))
    rendered = stream.render()
    return PartialReply(
        id=reply.pk,
        attempt=reply.shown_attempt,
        seq=deltas[-1].seq if deltas else 0,
        text=text,
        blocks=rendered.html if rendered else (),
        length=rendered.length if rendered else 0,
    )


def chunks_after(reply: Reply, seq: int) -> QuerySet[ReplyDelta]:
    """Return the chunks of a live reply after chunk `seq`; none of a reply that is not shown live."""
    if not reply.live:
        return ReplyDelta.objects.none()
    return reply.deltas.filter(attempt=reply.attempt, seq__gt=seq).order_by("seq")


def shown_events(session_id: UUID, after: int) -> list[tuple[int, Event]]:
    """Return the shown events of the session after the first `after` of them, each with its number."""
    shown = Event.objects.filter(session_id=session_id, kind__in=SHOWN_TO_TUTORS)
    shown = shown.select_related("session").order_by("seq")
    return list(enumerate(shown[after:], start=after + 1))


def event_view(seq: int, event: Event, rules: Rules) -> EventView:
    """Return the tutor's view of the event, which is shown as number `seq`."""
    opened_at = event.session.opened_at
    return EventView(
        seq=seq,
        kind=event.kind,
        at=event.at.replace(second=0, microsecond=0) if event.at else None,
        minutes=int((event.at - opened_at).total_seconds() // 60) if event.at and opened_at else None,
        fields=_fields(event, rules),
    )


def _fields(event: Event, rules: Rules) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    match event.payload:
        case SessionOpened():
            fields = {"samples_only": _samples_only(event)}
        case MessageSent() as message:
            fields = {
                "mode": message.mode,
                "text": message.text,
                "html": render_markdown(message.text, number=event.seq),
                "debrief": event.out_of_protocol,
                "level": message.intended_level,
                "draft_use": _draft_use(message),
            }
        case ReplyFinished() as reply:
            fields = _reply_fields(event, reply, rules)
        case ReplyFailed() | ModelDraft() as ended:
            fields = ended.model_dump(include={"text", "act"})
            fields["cause"] = _cause_of(ended.error_kind) if ended.error_kind else ""
        case ExecutionRequested(generation=generation) | SampleRunRequested(generation=generation):
            fields = {"generation": generation}
        case VerdictRecorded() as verdict:
            fields = _verdict_fields(verdict, rules.tutor_sees)
        case SampleRunFinished() as run:
            fields = run.model_dump(include={"verdict", "passed", "total", "failed"})
            fields["meaning"] = judge.VERDICT_MEANING[run.verdict] if run.verdict else ""
        case SessionClosed(reason=reason, outcome=outcome):
            hidden = rules.tutor_sees == "nothing" and outcome != Session.Outcome.ABANDONED
            fields = {"reason": reason, "outcome": "" if hidden else outcome}
        case SessionInvalidated(reason=reason):
            fields = {"reason": reason}
    return fields


def _draft_use(message: MessageSent) -> str:
    """Return whether the message is a model draft, "unchanged" or "edited"; blank if it is neither."""
    used = [one.use for one in message.model_drafts if one.use != "discarded"]
    return used[-1] if used else ""


def _samples_only(event: Event) -> bool:
    """Return whether the problem of the event's session has no tests but its samples."""
    problem = event.session.problem
    return problem is not None and problem.samples_only


def _reply_fields(event: Event, reply: ReplyFinished, rules: Rules) -> dict[str, Any]:
    shown = mask(reply.text, [Span(one.start, one.end) for one in reply.masked])
    if reply.hidden:
        shown = without_blocks(shown, event.session.language)
    return {
        "text": shown,
        "html": render_markdown(shown, number=event.seq),
        "generation": reply.generation,
        "unsolicited": reply.generation is not None and not reply.code_requested,
        "hidden": rules.unsolicited_code if reply.hidden else "",
        "masked": bool(reply.masked),
        "stopped": reply.stopped,
        "cut": reply.finish_reason == "length",
        "empty": is_empty(reply),
        "refused": reply.finish_reason == "refusal" and not reply.stopped,
        "debrief": event.out_of_protocol,
    }


def _cause_of(error_kind: str) -> Literal["spending", "operator", "silence", "error"]:
    """Return what a tutor may see about a failed reply: who can help."""
    if error_kind == SPENDING_LIMIT:
        return "spending"
    if error_kind in OPERATOR_KINDS:
        return "operator"
    return "silence" if error_kind == "timeout" else "error"


def _verdict_fields(recorded: VerdictRecorded, sees: TutorSees) -> dict[str, Any]:
    """Return the parts of the verdict that the protocol shows to the tutor."""
    if sees == "nothing":
        return {}
    verdict = recorded.verdict
    shown: dict[str, Any] = {"solved": verdict == judge.Verdict.AC, "samples_only": recorded.samples_only}
    if sees in ("verdict", "full"):
        shown |= {"verdict": verdict, "meaning": judge.VERDICT_MEANING[verdict]}
    if sees == "full":
        shown |= recorded.model_dump(include={"passed", "total", "failed_test", "time", "near_limit"})
    return shown


def session_for_tutor(session_id: UUID, tutor_pk: int) -> Session:
    """Return the tutor's own session. Raises Session.DoesNotExist for any other, so that no id can be guessed."""
    return Session.objects.select_related("problem__dataset", "protocol", "draft").get(
        pk=session_id, tutor_id=tutor_pk, origin=Session.Origin.TUTORED
    )
