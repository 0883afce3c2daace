"""The projection of sessions' events into `SessionEffort`, by workers and commands. Pages only read it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from benchmark.model_calls.budget import Spending
from benchmark.model_calls.ledger import Account
from benchmark.models.spending import MICRO
from tutoring.effort.minutes import active_time
from tutoring.models import DraftCheckRequest, Event, Reply, Session, SessionEffort
from tutoring.models.payloads import ModelDraft, ReplyFinished
from tutoring.sessions.spending import account_of_reply

VERSION = 1
"""The version of the derivation. With a new version, workers derive all rows again."""

AT_ONCE = 20
"""The most sessions whose effort one sweep derives. A worker must soon look for executions again."""


def missing_efforts() -> QuerySet[Session]:
    """Return the closed sessions of people without a row of this version, oldest first.

    A session whose draft is still checked by a model waits for the cost of the check.
    """
    closed = Session.objects.filter(origin=Session.Origin.TUTORED, state=Session.State.CLOSED)
    closed = closed.exclude(draft_check_requests__state=DraftCheckRequest.State.RUNNING)
    return closed.exclude(effort__version=VERSION).order_by("closed_at", "pk")


def project_efforts() -> None:
    """Store the effort of some sessions that have none. Workers call it every few seconds."""
    for session in missing_efforts()[:AT_ONCE]:
        project_effort(session)


def project_effort(session: Session) -> SessionEffort:
    """Store the effort of a closed session, and return it."""
    events = list(session.events.order_by("seq"))
    sent = Event.objects.filter(
        session__tutor=session.tutor_id, kind=Event.Kind.MESSAGE, at__gte=session.opened_at
    ).exclude(session=session)
    if session.closed_at is not None:
        sent = sent.filter(at__lte=session.closed_at)
    elsewhere = [at for at in sent.order_by().values_list("at", flat=True) if at is not None]
    found = active_time(events, elsewhere)
    row, _ = SessionEffort.objects.update_or_create(
        session=session,
        defaults={
            "version": VERSION,
            "seconds": found.seconds,
            "messages": found.messages,
            "unknown": found.unknown,
            "microdollars": _microdollars(session, events),
        },
    )
    return row


def _microdollars(session: Session, events: Sequence[Event]) -> int | None:
    """Return the cost of the session's draft checks, model drafts, and replies outside the debrief; None: unknown."""
    replies = {reply.pk: reply for reply in Reply.objects.filter(session=session)}
    checks = session.draft_check_requests.exclude(state=DraftCheckRequest.State.WAITING)
    costs = list(checks.values_list("microdollars", flat=True))
    if None in costs:
        return None
    total = sum(cost or 0 for cost in costs)
    for event in events:
        if event.kind == Event.Kind.REPLY_FAILED and not event.out_of_protocol:
            return None  # what the provider bills for it is unknown
        if event.kind == Event.Kind.MODEL_DRAFT:
            cost = event.payload_as(ModelDraft).cost
            if cost is None:
                return None
            total += round(cost * MICRO)
        if event.kind != Event.Kind.REPLY or event.out_of_protocol:
            continue
        payload = event.payload_as(ReplyFinished)
        reply = replies.get(payload.reply or 0)
        usage = payload.usage
        account: Account | None = account_of_reply(session, reply) if reply else None
        if account is None or usage is None:
            return None
        call = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
        cost = account.microdollars(call)
        if cost is None:
            return None
        total += cost
    return total
