"""The end of a reply: its whole answer, its program, the event that records it, and its cost."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import structlog
from django.db import transaction
from django.utils import timezone

from benchmark.extraction import Ended
from benchmark.model_calls import ledger
from benchmark.model_calls.budget import Spending
from tutoring.models import Event, Reply, Session
from tutoring.models.payloads import (
    MaskedPassage,
    MessageSent,
    ReplyFailed,
    ReplyFinished,
    ReplyRequestedAgain,
    TokenUsage,
)
from tutoring.protocols import rules_of_session
from tutoring.replies.claimed_reply import ClaimedReply, shown_text
from tutoring.replies.model_answer import ModelAnswer
from tutoring.sessions.dialogue import without_program_text
from tutoring.sessions.generations import program_of
from tutoring.sessions.masking import masked_spans
from tutoring.sessions.recording import append_event, queue_reply
from tutoring.sessions.spending import account_of_reply, may_be_billed

logger = structlog.get_logger(__name__)


def persist_answer(claimed: ClaimedReply, answer: ModelAnswer) -> None:
    """Store the whole answer before the tutor sees it, so that no later attempt pays for it again."""
    with transaction.atomic():
        session = Session.objects.get_locked(claimed.session_id)
        reply = claimed.held_row()
        if reply is not None:
            _record_cost(session, reply, answer)
            reply.answer = answer.to_json()
            reply.save(update_fields=["answer"])


def finish_reply(claimed: ClaimedReply, answer: ModelAnswer, *, stopped: bool = False) -> None:
    """End the reply with its event. Its text is what the tutor saw: the whole answer, unless the tutor stopped it.

    `program_of` decides whether the reply is a generation (docs/spec.md 8.1).
    """
    with transaction.atomic():
        session = Session.objects.get_locked(claimed.session_id)
        reply = claimed.held_row()
        if reply is None:
            return
        text = shown_text(reply, reply.attempt)
        message = reply.message
        code_requested = message.payload_as(MessageSent).mode == "code"
        program = program_of(
            text,
            _ended(answer, stopped),
            rules_of_session(session),
            code_requested=code_requested,
            in_protocol=not message.out_of_protocol,
        )
        generation = session.code_generations + 1 if program.counts else None
        completed = answer.completed
        shown_from, late_by = _lateness(reply, answer)
        payload = ReplyFinished(
            reply=reply.pk,
            message=message.seq,
            text=text,
            unseen_text=answer.text[len(text) :] if stopped else "",
            reasoning=answer.reasoning,
            stopped=stopped,
            code_requested=code_requested,
            hidden=program.hidden,
            generation=generation,
            code=program.code,
            extraction_rule=program.rule,
            model=completed.model if completed else None,
            finish_reason=completed.finish_reason if completed and not stopped else "stopped",
            request_id=completed.request_id if completed else None,
            usage=TokenUsage(**asdict(completed.usage)) if completed else None,
            masked=[MaskedPassage(start=start, end=end) for start, end in masked_spans(session, text)],
            attempts=_restarts(session, reply) + 1,
            started_at=reply.started_at,
            first_text_at=_moment(answer.first_text_at) or reply.first_text_at,
            received_at=_moment(answer.ended_at),
            shown_from=shown_from,
            late_by=late_by,
            # The blocks of a stopped reply belong to text that the tutor has not seen.
            blocks=[dict(block) for block in completed.blocks] if completed and not stopped else [],
            calls_broken_off=answer.calls_broken_off,
            phase=message.payload.phase,
        )
        append_event(session, payload)
        _record_cost(session, reply, answer, broken_off=stopped)
        _end(reply, Reply.State.STOPPED if stopped else Reply.State.DONE)
        if program.hidden and not stopped:
            _request_text(session, message)
    logger.info(
        "reply stopped" if stopped else "reply finished",
        **claimed.log_fields,
        generation=generation,
        seconds_to_first_text=_seconds_to_first_text(reply),
        finish_reason=payload.finish_reason,
    )


def _ended(answer: ModelAnswer, stopped: bool) -> Ended:
    if stopped:
        return Ended.STOPPED
    cut = answer.completed is not None and answer.completed.finish_reason == "length"
    return Ended.LENGTH if cut else Ended.COMPLETE


def _restarts(session: Session, reply: Reply) -> int:
    return session.events.filter(kind=Event.Kind.REPLY_RESTARTED, data__reply=reply.pk).count()


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _lateness(reply: Reply, answer: ModelAnswer) -> tuple[datetime | None, float | None]:
    """Return when the reply was due, and by how many seconds the model was late; None if the reply is not delayed.

    Only from a late reply could the tutor learn anything about the model's pace.
    """
    if reply.shown_from is None:
        return None, None
    ended = _moment(answer.ended_at) or timezone.now()
    return reply.shown_from, max(0.0, (ended - reply.shown_from).total_seconds())


def _request_text(session: Session, message: Event) -> None:
    """Request an answer without a program, at most once for a message, if the protocol says so."""
    again = session.events.filter(kind=Event.Kind.ASKED_AGAIN, data__message=message.seq)
    requests = [event.payload_as(ReplyRequestedAgain) for event in again]
    if rules_of_session(session).unsolicited_code != "ask_again" or any(
        request.sent is not None for request in requests
    ):
        return
    append_event(session, ReplyRequestedAgain(message=message.seq, sent=without_program_text()))
    queue_reply(session, message)


def fail_reply(claimed: ClaimedReply, kind: str, message: str, answer: ModelAnswer) -> None:
    """End the reply as failed by the provider, which costs the tutor nothing. `answer` is what had arrived."""
    with transaction.atomic():
        session = Session.objects.get_locked(claimed.session_id)
        reply = claimed.held_row()
        if reply is not None:
            fail_row(session, reply, kind, message, answer)


def fail_row(
    session: Session, reply: Reply, kind: str, message: str, answer: ModelAnswer, *, called: bool = True
) -> None:
    """End a reply of a locked session as failed. `called` says whether this attempt has called the model."""
    shown_from, late_by = _lateness(reply, answer)
    payload = ReplyFailed(
        reply=reply.pk,
        error_kind=kind,
        message=message,
        partial_text=answer.text or shown_text(reply, reply.attempt),
        shown_from=shown_from,
        late_by=late_by,
        calls_broken_off=answer.calls_broken_off,
        phase=reply.message.payload.phase,
    )
    append_event(session, payload)
    broken_off = called and may_be_billed(kind, answer.text + answer.reasoning)
    _record_cost(session, reply, answer, broken_off=broken_off)
    _end(reply, Reply.State.FAILED)
    logger.warning(
        "reply failed",
        reply=reply.pk,
        session=str(session.pk),
        attempt=reply.attempt,
        model=session.model_spec,
        kind=kind,
    )


def _record_cost(session: Session, reply: Reply, answer: ModelAnswer, *, broken_off: bool = False) -> None:
    """Add the answer's cost to the ledger once: with the stored answer if there is one, else at the end of the reply.

    `broken_off` says whether an incomplete answer may be billed. Its cost is unknown.
    """
    if reply.answer is not None:
        return
    if answer.completed is not None:
        usage = answer.completed.usage
        call = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    else:
        call = Spending(calls_broken_off=int(broken_off))
    ledger.record(account_of_reply(session, reply), [call])


def _end(reply: Reply, state: Reply.State) -> None:
    reply.state = state
    reply.owner, reply.lease_until = "", None
    reply.answer = None  # the event holds the answer
    reply.save()
    reply.deltas.all().delete()


def _seconds_to_first_text(reply: Reply) -> float | None:
    if reply.started_at is None or reply.first_text_at is None:
        return None
    return (reply.first_text_at - reply.started_at).total_seconds()
