"""Claims of replies: what a streamer needs to call the model, and the next attempt after a broken one."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import asdict, replace
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.models.owners import new_owner
from benchmark.providers import Parameters
from tutoring.models import Reply, Session
from tutoring.models.payloads import ReplyRestarted
from tutoring.notifications import notify_session
from tutoring.protocols import rules_of_session
from tutoring.replies.claimed_reply import ClaimedReply, shown_text
from tutoring.replies.endings import fail_row
from tutoring.replies.model_answer import ModelAnswer
from tutoring.sessions.dialogue import model_messages
from tutoring.sessions.recording import append_event
from tutoring.sessions.spending import account_of, account_of_reply

logger = structlog.get_logger(__name__)

MAXIMUM_ATTEMPTS = 5
"""Claims and restarts of one reply before it fails."""


def claim_replies(limit: int, written: Collection[int] = ()) -> list[ClaimedReply]:
    """Claim up to `limit` replies that wait, or whose streamer is dead or silent.

    `written` are the replies that this streamer writes. It keeps them even if a full disk prevented the renewal of
    their leases.
    """
    claimed = []
    candidates = Reply.objects.exclude(pk__in=written).claimable(timezone.now()).order_by("pk")
    for pk, session_id in candidates.values_list("pk", "session_id")[:limit]:
        with contextlib.suppress(Session.DoesNotExist):  # sessions may be erased meanwhile
            # The first look-up loads the listed prices, which takes too long for a transaction.
            price = account_of(Session.objects.select_related("model").get(pk=session_id)).price
            with transaction.atomic():
                # The session is locked first, as in every action, so that no two writers block each other.
                session = Session.objects.get_locked(session_id)
                if (reply := _claim(session, pk, price)) is not None:
                    claimed.append(_claimed(session, reply))
                    logger.info("reply claimed", **claimed[-1].log_fields)
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
        _record_restart(session, reply, before, "the streamer was lost", shown_text(reply, before))
    if reply.attempt > MAXIMUM_ATTEMPTS:
        given_up = "given up after several lost attempts"
        fail_row(session, reply, "unknown", given_up, ModelAnswer(), called=False)
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
    rules = rules_of_session(session)
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


def restart_reply(claimed: ClaimedReply, reason: str, partial_text: str) -> ClaimedReply | None:
    """Begin the reply again in this process after its stream broke; None if another streamer has claimed it."""
    with transaction.atomic():
        session = Session.objects.get_locked(claimed.session_id)
        reply = claimed.held_row()
        if reply is None:
            return None
        _record_restart(session, reply, reply.attempt, reason, partial_text)
        reply.attempt += 1
        reply.first_text_at = None
        reply.lease_until = timezone.now() + Reply.LEASE
        reply.save()
    logger.warning("reply restarted", **claimed.log_fields)
    return replace(claimed, attempt=reply.attempt)


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
