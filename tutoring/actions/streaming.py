"""The streamer's writes: claim a reply, append its text, end it with one event.

Every write names the attempt that makes it and is dropped when a later attempt has claimed the reply, so a
streamer that was thought dead cannot spoil what its successor writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from benchmark.extraction import contains_program, extract_program
from benchmark.providers import Completed, Message
from tutoring.actions.session_action import append_event, lock_session
from tutoring.dialogue import model_messages
from tutoring.models import Event, Reply, ReplyDelta, Session

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


@dataclass(frozen=True)
class Delta:
    """A piece of text: `seq` counts from 1 within the attempt."""

    reply_id: int
    attempt: int
    seq: int
    text: str


def claim_replies(limit: int) -> list[ClaimedReply]:
    """Take up to `limit` waiting replies, and those whose streamer has gone silent."""
    waiting = Q(state=Reply.State.QUEUED) | Q(state=Reply.State.STREAMING, lease_until__lt=timezone.now())
    claimed = []
    candidates = Reply.objects.filter(waiting).order_by("pk").values_list("pk", "session_id")
    for pk, session_id in candidates[:limit]:
        with transaction.atomic():
            # The session's lock comes first, as in every action, so that no two writers wait for each other.
            session = lock_session(session_id)
            rows = Reply.objects.filter(waiting, pk=pk)
            if connection.features.has_select_for_update_skip_locked:
                rows = rows.select_for_update(skip_locked=True)
            reply = rows.first()
            if reply is None:
                continue
            if reply.attempt:
                _record_restart(session, reply, "the streamer was lost")
            reply.attempt += 1
            if reply.attempt > MAXIMUM_ATTEMPTS:
                _end(session, reply, Reply.State.FAILED)
                data = {
                    "reply": reply.pk,
                    "kind": "unknown",
                    "message": "given up after several lost attempts",
                    "partial_text": "",
                }
                append_event(session, Event.Kind.REPLY_FAILED, data)
                continue
            reply.state = Reply.State.STREAMING
            reply.started_at = timezone.now()
            reply.first_text_at = None
            reply.lease_until = timezone.now() + LEASE
            reply.save()
            claimed.append(
                ClaimedReply(
                    pk=reply.pk,
                    attempt=reply.attempt,
                    session_id=session_id,
                    model_spec=session.model_spec,
                    messages=tuple(model_messages(session.events.all())),
                )
            )
    return claimed


def append_deltas(deltas: Sequence[Delta], streaming: Iterable[tuple[int, int]]) -> tuple[set[int], set[int]]:
    """Store pieces of text of many chats in one transaction and renew the leases of `streaming` replies.

    `streaming` holds (reply, attempt) pairs. Returns the replies that were asked to stop, and those that
    another streamer has taken over meanwhile (their pieces are dropped).
    """
    pairs = dict(streaming)
    now = timezone.now()
    with transaction.atomic():
        mine = {
            reply.pk: reply
            for reply in Reply.objects.select_for_update().filter(pk__in=pairs, state=Reply.State.STREAMING)
            if reply.attempt == pairs[reply.pk]
        }
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
        Reply.objects.filter(pk__in=mine).update(lease_until=now + LEASE)
    return {pk for pk, reply in mine.items() if reply.stop_requested}, set(pairs) - set(mine)


def restart_reply(claimed: ClaimedReply, reason: str) -> ClaimedReply | None:
    """Begin the reply anew in the same process after its stream broke; None when it is no longer ours."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return None
        _record_restart(session, reply, reason)
        reply.attempt += 1
        reply.first_text_at = None
        reply.lease_until = timezone.now() + LEASE
        reply.save()
    return ClaimedReply(claimed.pk, reply.attempt, claimed.session_id, claimed.model_spec, claimed.messages)


def finish_reply(claimed: ClaimedReply, reasoning: str, completed: Completed | None) -> None:
    """End the reply with its event; `completed` is None when the tutor stopped it.

    It counts as a generation when it contains a complete program, asked for or not (METHODS 8.1).
    """
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return
        text = _text(reply)
        extraction = extract_program(text, session.language)
        counts = contains_program(text, session.language)
        generation = session.code_generations + 1 if counts else None
        now = timezone.now()
        data = {
            "reply": reply.pk,
            "message": reply.message.seq,
            "text": text,
            "reasoning": reasoning,
            "stopped": completed is None,
            "code_requested": reply.message.data["mode"] == "code",
            "generation": generation,
            "code": extraction.code if counts else None,
            "extraction_rule": extraction.rule,
            "model": completed.model if completed else None,
            "finish_reason": completed.finish_reason if completed else "stopped",
            "request_id": completed.request_id if completed else None,
            "usage": asdict(completed.usage) if completed else None,
            "attempts": reply.attempt,
            "started_at": reply.started_at.isoformat() if reply.started_at else None,
            "first_text_at": reply.first_text_at.isoformat() if reply.first_text_at else None,
        }
        append_event(session, Event.Kind.REPLY, data, at=now)
        if counts:
            session.code_generations += 1
            session.save(update_fields=["code_generations"])
        _end(session, reply, Reply.State.DONE if completed else Reply.State.STOPPED)


def fail_reply(claimed: ClaimedReply, kind: str, message: str) -> None:
    """End the reply as failed: the provider's fault, which costs the tutor nothing."""
    with transaction.atomic():
        session = lock_session(claimed.session_id)
        reply = _owned(claimed)
        if reply is None:
            return
        data = {"reply": reply.pk, "kind": kind, "message": message, "partial_text": _text(reply)}
        append_event(session, Event.Kind.REPLY_FAILED, data)
        _end(session, reply, Reply.State.FAILED)


def _owned(claimed: ClaimedReply) -> Reply | None:
    return (
        Reply.objects.select_related("message")
        .filter(pk=claimed.pk, attempt=claimed.attempt, state=Reply.State.STREAMING)
        .first()
    )


def _text(reply: Reply) -> str:
    return "".join(reply.deltas.filter(attempt=reply.attempt).order_by("seq").values_list("text", flat=True))


def _record_restart(session: Session, reply: Reply, reason: str) -> None:
    """Keep what a broken attempt had written (it was paid for) before the next one replaces it."""
    data = {"reply": reply.pk, "attempt": reply.attempt, "reason": reason, "partial_text": _text(reply)}
    append_event(session, Event.Kind.REPLY_RESTARTED, data)
    reply.deltas.all().delete()


def _end(session: Session, reply: Reply, state: Reply.State) -> None:
    reply.state = state
    reply.lease_until = None
    reply.save()
    reply.deltas.all().delete()
