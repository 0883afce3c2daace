"""The streamer's writes: claim a reply, append its text, end it with one event.

Every write names the attempt that makes it and is dropped when a later attempt has claimed the reply, so a
streamer that was thought dead cannot spoil what its successor writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Manager, Q, QuerySet
from django.utils import timezone

from benchmark.extraction import Ended, counts_as_generation, extract_program
from benchmark.providers import Message
from tutoring.models import Event, Reply, ReplyDelta, Session
from tutoring.models.payloads import (
    MessageSent,
    ReplyFailed,
    ReplyFinished,
    ReplyRequestedAgain,
    ReplyRestarted,
    TokenUsage,
)
from tutoring.protocols import Rules, rules_of
from tutoring.replies.answers import Answer
from tutoring.sessions.dialogue import model_messages, without_program_text
from tutoring.sessions.recording import append_event, lock_session, queue_reply

LEASE = timedelta(seconds=6)
"""How long a streamer may be silent before another takes its replies over."""

MAXIMUM_ATTEMPTS = 5
"""Claims and restarts of one reply before it is given up as failed."""


@dataclass(frozen=True)
class ClaimedReply:
    """A reply this process now writes, with all the provider needs."""

    pk: int
    attempt: int
    session_id: UUID
    model_spec: str
    messages: tuple[Message, ...]
    live: bool
    """Whether the tutor reads along; else the reply is shown when it is whole."""
    characters_per_second: int | None
    """The even pace at which it is handed out; None: as it arrives."""
    shown_from: datetime | None
    """When its first word may appear, if the protocol holds it until it is whole."""
    answer: Answer | None
    """The whole answer, where an earlier attempt had it and handed it out up to piece `seq`, character `shown`."""
    seq: int = 0
    shown: int = 0

    @property
    def shown_attempt(self) -> int:
        """See `Reply.shown_attempt`."""
        return self.attempt if self.shown_from is None else 1

    @property
    def waits(self) -> bool:
        """Whether the tutor may get the answer later than it comes."""
        return self.shown_from is not None or (self.live and self.characters_per_second is not None)


@dataclass(frozen=True)
class Delta:
    """A piece of text: `seq` counts from 1 within the attempt."""

    reply_id: int
    attempt: int
    seq: int
    text: str


def claim_replies(limit: int, written: Collection[int] = ()) -> list[ClaimedReply]:
    """Take up to `limit` waiting replies, and those whose streamer has gone silent.

    `written` are those that this streamer writes: a lease that a full disk did not let it renew is still its own.
    """
    waiting = Q(state=Reply.State.QUEUED) | Q(state=Reply.State.STREAMING, lease_until__lt=timezone.now())
    claimed = []
    candidates = Reply.objects.filter(waiting).exclude(pk__in=written).order_by("pk")
    for pk, session_id in candidates.values_list("pk", "session_id")[:limit]:
        with transaction.atomic():
            # The session's lock comes first, as in every action, so that no two writers wait for each other.
            session = lock_session(session_id)
            rows = Reply.objects.select_related("message").filter(waiting, pk=pk)
            if connection.features.has_select_for_update_skip_locked:
                rows = rows.select_for_update(skip_locked=True, of=("self",))
            reply = rows.first()
            if reply is None:
                continue
            if reply.answer is not None:
                reply.deltas.update(attempt=reply.attempt + 1)  # what the tutor has of it stays
            elif reply.attempt:
                _record_restart(session, reply, "the streamer was lost", _text(reply))
            reply.attempt += 1
            if reply.attempt > MAXIMUM_ATTEMPTS and reply.answer is None:
                _fail(session, reply, "unknown", "given up after several lost attempts", Answer())
                continue
            reply.state = Reply.State.STREAMING
            if reply.answer is None:
                reply.started_at = timezone.now()
                reply.first_text_at = None
            reply.lease_until = timezone.now() + LEASE
            reply.save()
            claimed.append(_claimed(session, reply))
    return claimed


def _claimed(session: Session, reply: Reply) -> ClaimedReply:
    shown = list(reply.deltas.filter(attempt=reply.attempt).order_by("seq"))
    return ClaimedReply(
        pk=reply.pk,
        attempt=reply.attempt,
        session_id=session.pk,
        model_spec=session.model_spec,
        messages=tuple(model_messages(session.events.all())),
        live=reply.live,
        characters_per_second=_pace(session),
        shown_from=reply.shown_from,
        answer=None if reply.answer is None else Answer.from_json(reply.answer),
        seq=len(shown),
        shown=sum(len(delta.text) for delta in shown),
    )


def append_deltas(
    deltas: Sequence[Delta], streaming: Iterable[tuple[int, int]], renew: bool = True
) -> tuple[set[int], set[int]]:
    """Store pieces of text of many chats in one transaction and, if asked, renew the leases of `streaming` replies.

    `streaming` holds (reply, attempt) pairs. Returns the replies that were asked to stop, and those that
    another streamer has taken over meanwhile (their pieces are dropped).
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
            Reply.objects.filter(pk__in=mine).update(lease_until=now + LEASE)
    return stopped, lost


def _ours(replies: QuerySet[Reply] | Manager[Reply], pairs: dict[int, int]) -> tuple[set[int], set[int]]:
    """Which of the (reply, attempt) pairs are to be stopped, and which are not ours any more."""
    rows = replies.filter(pk__in=pairs, state=Reply.State.STREAMING)
    mine = {
        pk: stop
        for pk, attempt, stop in rows.values_list("pk", "attempt", "stop_requested")
        if attempt == pairs[pk]
    }
    return {pk for pk, stop in mine.items() if stop}, set(pairs) - set(mine)


def restart_reply(claimed: ClaimedReply, reason: str, partial_text: str) -> ClaimedReply | None:
    """Begin the reply anew in the same process after its stream broke; None when it is no longer ours."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return None
        _record_restart(session, reply, reason, partial_text)
        reply.attempt += 1
        reply.first_text_at = None
        reply.lease_until = timezone.now() + LEASE
        reply.save()
    return replace(claimed, attempt=reply.attempt)


def keep_answer(claimed: ClaimedReply, answer: Answer) -> None:
    """Store the whole answer before the tutor gets it, so that it is paid for once whatever happens meanwhile."""
    with transaction.atomic():
        lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is not None:
            reply.answer = answer.to_json()
            reply.save(update_fields=["answer"])


def finish_reply(claimed: ClaimedReply, answer: Answer, *, stopped: bool = False) -> None:
    """End the reply with its event. Its text is what the tutor was given: all of it, unless it was stopped.

    `counts_as_generation` says whether the reply is a generation, asked for or not (docs/spec.md 8.1). Where the
    protocol hides programs that were not asked for, those do not count.
    """
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return
        text = _text(reply)
        extraction = extract_program(text, session.language)
        message = reply.message
        code_requested = message.payload_as(MessageSent).mode == "code"
        judged = not message.out_of_protocol
        hides = judged and not code_requested and _rules(session).unsolicited_code != "count"
        hidden = hides and counts_as_generation(text, session.language, Ended.COMPLETE)
        counts = (
            judged and not hides and counts_as_generation(text, session.language, _ended(answer, stopped))
        )
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
            attempts=_restarts(session, reply) + 1,
            started_at=reply.started_at,
            first_text_at=_moment(answer.first_text_at) or reply.first_text_at,
            received_at=_moment(answer.ended_at),
            shown_from=shown_from,
            late_by=late_by,
            phase=message.payload.phase,
        )
        append_event(session, payload)
        _end(reply, Reply.State.STOPPED if stopped else Reply.State.DONE)
        if hidden and not stopped:
            _ask_for_words(session, message)


def _ended(answer: Answer, stopped: bool) -> Ended:
    if stopped:
        return Ended.STOPPED
    cut = answer.completed is not None and answer.completed.finish_reason == "length"
    return Ended.LENGTH if cut else Ended.COMPLETE


def _restarts(session: Session, reply: Reply) -> int:
    return session.events.filter(kind=Event.Kind.REPLY_RESTARTED, data__reply=reply.pk).count()


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _lateness(reply: Reply, answer: Answer) -> tuple[datetime | None, float | None]:
    """When the protocol wanted the reply to appear, and the seconds by which the model missed that; None: no matter.

    Only where it is late could the tutor learn anything of the model's pace.
    """
    if reply.shown_from is None:
        return None, None
    ended = _moment(answer.ended_at) or timezone.now()
    return reply.shown_from, max(0.0, (ended - reply.shown_from).total_seconds())


def _ask_for_words(session: Session, message: Event) -> None:
    """Let the model answer once more without a program, where the protocol says so; once a message."""
    again = session.events.filter(kind=Event.Kind.ASKED_AGAIN, data__message=message.seq)
    requests = [event.payload_as(ReplyRequestedAgain) for event in again]
    if _rules(session).unsolicited_code != "ask_again" or any(
        request.sent is not None for request in requests
    ):
        return
    append_event(session, ReplyRequestedAgain(message=message.seq, sent=without_program_text()))
    queue_reply(session, message)


def fail_reply(claimed: ClaimedReply, kind: str, message: str, answer: Answer) -> None:
    """End the reply as failed: the provider's fault, which costs the tutor nothing. `answer` is what had come."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is not None:
            _fail(session, reply, kind, message, answer)


def _fail(session: Session, reply: Reply, kind: str, message: str, answer: Answer) -> None:
    shown_from, late_by = _lateness(reply, answer)
    payload = ReplyFailed(
        reply=reply.pk,
        error_kind=kind,
        message=message,
        partial_text=answer.text or _text(reply),
        shown_from=shown_from,
        late_by=late_by,
        phase=reply.message.payload.phase,
    )
    append_event(session, payload)
    _end(reply, Reply.State.FAILED)


def _owned(claimed: ClaimedReply) -> Reply | None:
    return (
        Reply.objects.select_related("message")
        .filter(pk=claimed.pk, attempt=claimed.attempt, state=Reply.State.STREAMING)
        .first()
    )


def _text(reply: Reply) -> str:
    return "".join(reply.deltas.filter(attempt=reply.attempt).order_by("seq").values_list("text", flat=True))


def _record_restart(session: Session, reply: Reply, reason: str, partial_text: str) -> None:
    """Keep what a broken attempt had written (it was paid for) before the next one replaces it."""
    payload = ReplyRestarted(
        reply=reply.pk,
        attempt=reply.attempt,
        reason=reason,
        partial_text=partial_text,
        phase=reply.message.payload.phase,
    )
    append_event(session, payload)
    reply.deltas.all().delete()


def _rules(session: Session) -> Rules:
    assert session.protocol is not None
    return rules_of(session.protocol)


def _pace(session: Session) -> int | None:
    """A scripted student is no secret, so its text is not held back."""
    return None if session.scripted else _rules(session).characters_per_second


def _end(reply: Reply, state: Reply.State) -> None:
    reply.state = state
    reply.lease_until = None
    reply.answer = None  # the event holds it
    reply.save()
    reply.deltas.all().delete()
