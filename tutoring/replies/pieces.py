"""Pieces of a reply's text, stored while it arrives, and the state of the call that the tutor's page shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Manager, QuerySet
from django.utils import timezone

from benchmark.model_calls import ledger
from benchmark.model_calls.budget import Spending
from tutoring.models import Reply, ReplyDelta
from tutoring.notifications import notify_session
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.sessions.spending import account_of_reply


@dataclass(frozen=True)
class Delta:
    """A piece of text: `seq` counts from 1 within the attempt."""

    reply_id: int
    attempt: int
    seq: int
    text: str


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


def record_call(claimed: ClaimedReply, call: int, seconds: float, *, broken_off: bool) -> None:
    """Store the number of the next call of the provider, and that the reply fails after `seconds` without new text.

    `broken_off` says whether the call before it failed without any text and may be billed. Its cost is unknown.
    """
    gives_up_at = timezone.now() + timedelta(seconds=seconds)
    held = Reply.objects.filter(pk=claimed.pk, attempt=claimed.attempt, state=Reply.State.STREAMING)
    with transaction.atomic():
        if held.update(calls=call, gives_up_at=gives_up_at) and broken_off:
            reply = held.select_related("session").get()
            ledger.record(account_of_reply(reply.session, reply), [Spending(calls_broken_off=1)])
    notify_session(claimed.session_id)
