"""The projection of sessions' events into `SessionEffort`, by workers and commands. Pages only read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.ledger import Account
from tutoring.effort.minutes import active_time
from tutoring.models import DraftCheckRequest, Event, Reply, Session, SessionEffort
from tutoring.models.payloads import ModelDraft, ReplyFailed, ReplyFinished, ReplyRestarted, TokenUsage
from tutoring.sessions.spending import account_of_reply, may_be_billed

VERSION = 3
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
    checks = session.draft_check_requests.exclude(state=DraftCheckRequest.State.WAITING)
    costs = [*checks.values_list("microdollars", flat=True), *_costs_of_drafts(session, events)]
    replies = {reply.pk: reply for reply in Reply.objects.filter(session=session)}
    for key, call in _calls_for_replies(events):
        reply = replies.get(key or 0)
        costs.append(account_of_reply(session, reply).microdollars(call) if reply else None)
    return None if None in costs else sum(cost or 0 for cost in costs)


def _costs_of_drafts(session: Session, events: Sequence[Event]) -> Iterator[int | None]:
    """Yield the micro-dollars of each call for a model draft, as the ledger counts it; None: unknown."""
    requests = {row.request.seq: row for row in session.draft_requests.select_related("request")}
    for event in events:
        if event.kind != Event.Kind.MODEL_DRAFT:
            continue
        draft = event.payload_as(ModelDraft)
        price = requests[draft.request].price
        account = Account("", Price(**price) if price else None)  # only the price counts
        yield from (account.microdollars(_call(usage)) for usage in draft.usage)
        if draft.calls_broken_off:
            yield account.microdollars(Spending(calls_broken_off=draft.calls_broken_off))


def _call(usage: TokenUsage) -> Spending:
    return Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)


def _calls_for_replies(events: Sequence[Event]) -> Iterator[tuple[int | None, Spending]]:
    """Yield each call outside the debrief that may be billed, with the key of its reply, as the ledger counts it."""
    for event in events:
        if event.out_of_protocol:
            continue
        payload = event.payload
        match payload:
            case ReplyFinished(calls_broken_off=count) | ReplyFailed(calls_broken_off=count) if count:
                yield payload.reply, Spending(calls_broken_off=count)
        match payload:
            case ReplyFinished(reply=key, usage=TokenUsage() as usage):
                yield key, _call(usage)
            case ReplyFinished(reply=key) | ReplyRestarted(reply=key):
                yield key, Spending(calls_broken_off=1)
            case ReplyFailed() as failed if may_be_billed(failed.error_kind, failed.partial_text):
                yield failed.reply, Spending(calls_broken_off=1)
