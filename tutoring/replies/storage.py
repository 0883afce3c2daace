"""What the streamer stores: the claim of a reply, pieces of its text, and the event that ends it.

Every write names its attempt and is dropped if a later attempt has claimed the reply. So a streamer that was wrongly
taken for dead changes nothing that its successor writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Manager, QuerySet
from django.utils import timezone

from benchmark.extraction import Ended, extract_program
from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.models.owners import new_owner
from benchmark.providers import Message, Parameters
from tutoring.models import Event, Reply, ReplyDelta, Session
from tutoring.models.payloads import (
    MaskedPassage,
    MessageSent,
    ReplyFailed,
    ReplyFinished,
    ReplyRequestedAgain,
    ReplyRestarted,
    TokenUsage,
)
from tutoring.notifications import notify_session
from tutoring.protocols import Rules, rules_of
from tutoring.replies.model_answer import ModelAnswer
from tutoring.sessions.dialogue import model_messages, without_program_text
from tutoring.sessions.generations import count_reply
from tutoring.sessions.masking import masked_spans
from tutoring.sessions.recording import append_event, lock_session, queue_reply
from tutoring.sessions.spending import account_of, account_of_reply

logger = structlog.get_logger(__name__)

MAXIMUM_ATTEMPTS = 5
"""Claims and restarts of one reply before it fails."""


@dataclass(frozen=True)
class ClaimedReply:
    """A reply that this process has claimed, with everything that the provider needs."""

    pk: int
    attempt: int
    session_id: UUID
    model_spec: str
    parameters: Parameters
    messages: tuple[Message, ...]
    live: bool
    """Whether the tutor sees the text while it arrives. If not, the reply appears when it is whole."""
    characters_per_second: int | None
    """The even pace at which the text appears. None: as it arrives."""
    maximum_seconds_shown: int | None
    """Seconds in which the longest reply appears, at a higher pace. None: the pace is the same for all."""
    shown_from: datetime | None
    """When the first word may appear, if the protocol delays the reply until it is whole."""
    answer: ModelAnswer | None
    """The whole answer, if an earlier attempt stored it; its text was shown up to piece `seq`, character `shown`."""
    seq: int = 0
    shown: int = 0

    @property
    def shown_attempt(self) -> int:
        """See `Reply.shown_attempt`."""
        return self.attempt if self.shown_from is None else 1

    def pace_of(self, answer: ModelAnswer) -> float | None:
        """Return the characters per second at which the answer appears, a function of its length alone.

        None: as it arrives.
        """
        if self.characters_per_second is None or self.maximum_seconds_shown is None:
            return self.characters_per_second
        return max(self.characters_per_second, len(answer.text) / self.maximum_seconds_shown)

    @property
    def is_paced(self) -> bool:
        """Whether the tutor may see the answer later than it arrives."""
        return self.shown_from is not None or (self.live and self.characters_per_second is not None)


@dataclass(frozen=True)
class Delta:
    """A piece of text: `seq` counts from 1 within the attempt."""

    reply_id: int
    attempt: int
    seq: int
    text: str


def claim_replies(limit: int, written: Collection[int] = ()) -> list[ClaimedReply]:
    """Claim up to `limit` replies that wait, or whose streamer is dead or silent.

    `written` are the replies that this streamer writes. It keeps them even if a full disk prevented the renewal of
    their leases.
    """
    claimed = []
    candidates = Reply.objects.exclude(pk__in=written).claimable(timezone.now()).order_by("pk")
    for pk, session_id in candidates.values_list("pk", "session_id")[:limit]:
        # The first look-up loads the listed prices, which takes too long for a transaction.
        price = account_of(Session.objects.select_related("model").get(pk=session_id)).price
        with transaction.atomic():
            # The session is locked first, as in every action, so that no two writers block each other.
            session = lock_session(session_id)
            if (reply := _claim(session, pk, price)) is not None:
                claimed.append(_claimed(session, reply))
                logger.info("reply claimed", **_ids(claimed[-1]))
    return claimed


def _claim(session: Session, reply_id: int, price: Price | None) -> Reply | None:
    """Claim the reply of the locked session; None if another streamer has it, or if its attempts are used up."""
    now = timezone.now()
    if Reply.claim_one(reply_id, new_owner(), now) is None:
        return None
    reply = Reply.objects.select_related("message").get(pk=reply_id)
    before = reply.attempt - 1
    if reply.answer is not None:
        reply.deltas.update(attempt=reply.attempt)  # the tutor keeps the text that was shown
        return reply
    if before:
        _record_restart(session, reply, before, "the streamer was lost", _text(reply, before))
    if reply.attempt > MAXIMUM_ATTEMPTS:
        _fail(session, reply, "unknown", "given up after several lost attempts", ModelAnswer())
        return None
    reply.started_at = now
    reply.first_text_at = None
    reply.calls = 1
    reply.gives_up_at = now + timedelta(seconds=settings.REPLY_TIMEOUT)
    reply.price = asdict(price) if price else None
    reply.save(update_fields=["started_at", "first_text_at", "calls", "gives_up_at", "price"])
    transaction.on_commit(lambda: notify_session(session.pk))
    return reply


def refuse_over_cap(claimed: ClaimedReply) -> None:
    """Raise CapReachedError if a spending cap refuses the call of the model."""
    reply = Reply.objects.select_related("session").get(pk=claimed.pk)
    caps.refuse(account_of_reply(reply.session, reply))


def _claimed(session: Session, reply: Reply) -> ClaimedReply:
    shown = list(reply.deltas.filter(attempt=reply.attempt).order_by("seq"))
    rules = _rules(session)
    return ClaimedReply(
        pk=reply.pk,
        attempt=reply.attempt,
        session_id=session.pk,
        model_spec=session.model_spec,
        parameters=Parameters.from_json(session.model.parameters if session.model else {}),
        messages=tuple(model_messages(session.events.all())),
        live=reply.live,
        characters_per_second=None if session.scripted else rules.characters_per_second,
        maximum_seconds_shown=rules.maximum_seconds_shown,
        shown_from=_due_by_this_clock(reply),
        answer=None if reply.answer is None else ModelAnswer.from_json(reply.answer),
        seq=len(shown),
        shown=sum(len(delta.text) for delta in shown),
    )


def _due_by_this_clock(reply: Reply) -> datetime | None:
    """Return when the reply is due: after a clock was set back, not later than its whole delay from now."""
    if reply.shown_from is None or reply.message.at is None:
        return reply.shown_from
    return min(reply.shown_from, timezone.now() + (reply.shown_from - reply.message.at))


def append_deltas(
    deltas: Sequence[Delta], streaming: Iterable[tuple[int, int]], renew: bool = True
) -> tuple[set[int], set[int]]:
    """Store pieces of text of many replies in one transaction; with `renew`, prolong the leases of `streaming`.

    `streaming` holds pairs of reply and attempt. Return the replies that the tutor stopped, and those that another
    streamer has claimed meanwhile; their pieces are dropped.
    """
    pairs = dict(streaming)
    if not deltas and not renew:
        return _ours(Reply.objects, pairs)
    now = timezone.now()
    with transaction.atomic():
        stopped, lost = _ours(Reply.objects.select_for_update(), pairs)
        mine = set(pairs) - lost
        kept = [
            delta for delta in deltas if pairs.get(delta.reply_id) == delta.attempt and delta.reply_id in mine
        ]
        ReplyDelta.objects.bulk_create(
            ReplyDelta(reply_id=delta.reply_id, attempt=delta.attempt, seq=delta.seq, text=delta.text)
            for delta in kept
        )
        begun = {delta.reply_id for delta in kept if delta.seq == 1}
        if begun:
            Reply.objects.filter(pk__in=begun).update(first_text_at=now)
        if renew:
            Reply.objects.filter(pk__in=mine).renew(now)
    return stopped, lost


def _ours(replies: QuerySet[Reply] | Manager[Reply], pairs: dict[int, int]) -> tuple[set[int], set[int]]:
    """Return which of the pairs of reply and attempt the tutor stopped, and which this streamer no longer holds."""
    rows = replies.filter(pk__in=pairs, state=Reply.State.STREAMING)
    mine = {
        pk: stop
        for pk, attempt, stop in rows.values_list("pk", "attempt", "stop_requested")
        if attempt == pairs[pk]
    }
    return {pk for pk, stop in mine.items() if stop}, set(pairs) - set(mine)


def restart_reply(claimed: ClaimedReply, reason: str, partial_text: str) -> ClaimedReply | None:
    """Begin the reply again in this process after its stream broke; None if another streamer has claimed it."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return None
        _record_restart(session, reply, reply.attempt, reason, partial_text)
        reply.attempt += 1
        reply.first_text_at = None
        reply.lease_until = timezone.now() + Reply.LEASE
        reply.save()
    logger.warning("reply restarted", **_ids(claimed))
    return replace(claimed, attempt=reply.attempt)


def record_call(claimed: ClaimedReply, call: int, seconds: float) -> None:
    """Store the number of the next call of the provider, and that the reply fails after `seconds` without new text."""
    gives_up_at = timezone.now() + timedelta(seconds=seconds)
    held = Reply.objects.filter(pk=claimed.pk, attempt=claimed.attempt, state=Reply.State.STREAMING)
    held.update(calls=call, gives_up_at=gives_up_at)
    notify_session(claimed.session_id)


def persist_answer(claimed: ClaimedReply, answer: ModelAnswer) -> None:
    """Store the whole answer before the tutor sees it, so that no later attempt pays for it again."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is not None:
            _record_cost(session, reply, answer)
            reply.answer = answer.to_json()
            reply.save(update_fields=["answer"])


def finish_reply(claimed: ClaimedReply, answer: ModelAnswer, *, stopped: bool = False) -> None:
    """End the reply with its event. Its text is what the tutor saw: the whole answer, unless the tutor stopped it.

    `counts_as_generation` decides whether the reply is a generation, requested or not (docs/spec.md 8.1). Unsolicited
    programs do not count if the protocol hides them.
    """
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return
        text = _text(reply, reply.attempt)
        extraction = extract_program(text, session.language)
        message = reply.message
        code_requested = message.payload_as(MessageSent).mode == "code"
        judged = not message.out_of_protocol
        counts, hidden = False, False
        if judged:
            ended = _ended(answer, stopped)
            counts, hidden = count_reply(text, ended, _rules(session), code_requested=code_requested)
        generation = session.code_generations + 1 if counts else None
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
            hidden=hidden,
            generation=generation,
            code=extraction.code if counts else None,
            extraction_rule=extraction.rule,
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
            phase=message.payload.phase,
        )
        append_event(session, payload)
        _record_cost(session, reply, answer, broken_off=stopped)
        _end(reply, Reply.State.STOPPED if stopped else Reply.State.DONE)
        if hidden and not stopped:
            _request_text(session, message)
    logger.info(
        "reply stopped" if stopped else "reply finished",
        **_ids(claimed),
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
    if _rules(session).unsolicited_code != "ask_again" or any(
        request.sent is not None for request in requests
    ):
        return
    append_event(session, ReplyRequestedAgain(message=message.seq, sent=without_program_text()))
    queue_reply(session, message)


def fail_reply(claimed: ClaimedReply, kind: str, message: str, answer: ModelAnswer) -> None:
    """End the reply as failed by the provider, which costs the tutor nothing. `answer` is what had arrived."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is not None:
            _fail(session, reply, kind, message, answer)


def _fail(session: Session, reply: Reply, kind: str, message: str, answer: ModelAnswer) -> None:
    shown_from, late_by = _lateness(reply, answer)
    payload = ReplyFailed(
        reply=reply.pk,
        error_kind=kind,
        message=message,
        partial_text=answer.text or _text(reply, reply.attempt),
        shown_from=shown_from,
        late_by=late_by,
        phase=reply.message.payload.phase,
    )
    append_event(session, payload)
    _record_cost(session, reply, answer, broken_off=bool(answer.text or answer.reasoning))
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


def _ids(claimed: ClaimedReply) -> dict[str, Any]:
    """Return what a line of the log says of a reply; its text and the provider's message are in the rows."""
    return {
        "reply": claimed.pk,
        "session": str(claimed.session_id),
        "attempt": claimed.attempt,
        "model": claimed.model_spec,
    }


def _seconds_to_first_text(reply: Reply) -> float | None:
    if reply.started_at is None or reply.first_text_at is None:
        return None
    return (reply.first_text_at - reply.started_at).total_seconds()


def _owned(claimed: ClaimedReply) -> Reply | None:
    """Return the reply, or None after another streamer has claimed it."""
    return Reply(pk=claimed.pk, attempt=claimed.attempt).claimed().select_related("message").first()


def _text(reply: Reply, attempt: int) -> str:
    return "".join(reply.deltas.filter(attempt=attempt).order_by("seq").values_list("text", flat=True))


def _record_restart(session: Session, reply: Reply, attempt: int, reason: str, partial_text: str) -> None:
    """Record the text of a broken attempt, which was paid for, before the next attempt replaces it."""
    payload = ReplyRestarted(
        reply=reply.pk,
        attempt=attempt,
        reason=reason,
        partial_text=partial_text,
        phase=reply.message.payload.phase,
    )
    append_event(session, payload)
    ledger.record(account_of_reply(session, reply), [Spending(calls_broken_off=1)])
    reply.deltas.all().delete()


def _rules(session: Session) -> Rules:
    assert session.protocol is not None
    return rules_of(session.protocol)


def _end(reply: Reply, state: Reply.State) -> None:
    reply.state = state
    reply.owner, reply.lease_until = "", None
    reply.answer = None  # the event holds the answer
    reply.save()
    reply.deltas.all().delete()
