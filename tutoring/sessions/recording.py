"""Appending events to sessions and queueing replies. Every writer goes through these functions."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from tutoring.models import Event, Reply, Session
from tutoring.models.payloads import MessageSent, Payload
from tutoring.notifications import notify_session, notify_streamers
from tutoring.protocols import rules_of_session
from tutoring.sessions.projections import count_payload


def append_event(
    session: Session,
    payload: Payload,
    *,
    actor: User | None = None,
    command: UUID | None = None,
    at: datetime | None = None,
) -> Event:
    """Append an event to a locked session, update the session's counters, and notify its pages after the commit."""
    last = session.events.order_by("-seq").values_list("seq", flat=True).first() or 0
    event = Event.objects.create(
        session=session,
        seq=last + 1,
        kind=payload.KIND,
        version=payload.VERSION,
        actor=actor,
        by=pseudonym(actor) if actor else "",
        data=payload.to_json(),
        command=command,
        at=at or timezone.now(),
    )
    if changed := count_payload(session, payload):
        session.save(update_fields=changed)
    transaction.on_commit(lambda: notify_session(session.pk))
    return event


def queue_reply(session: Session, message: Event) -> None:
    """Queue the model's reply to the message for a streamer."""
    rules = rules_of_session(session)
    code_requested = message.payload_as(MessageSent).mode == "code"
    live = code_requested or message.out_of_protocol or rules.unsolicited_code == "count"
    delay = rules.seconds_to_first_word if not session.scripted else None
    shown_from = None if delay is None else timezone.now() + timedelta(seconds=delay)
    Reply.objects.create(session=session, message=message, live=live, shown_from=shown_from)
    transaction.on_commit(notify_streamers)
