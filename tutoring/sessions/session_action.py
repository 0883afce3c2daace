"""What every command on a session has in common: the lock, the checks, the event, the doorbell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from accounts.roles import Role, has_role
from tutoring.models import DEBRIEF, Event, Reply, Session
from tutoring.notifications import ring_session, ring_streamers
from tutoring.protocols import Rules, rules_of
from tutoring.sessions.budgets import Budget, count_budget


class Refused(Exception):
    """The rules do not allow the command now; the message is a sentence for the person who gave it."""


def lock_session(session_id: UUID) -> Session:
    """The session's row, held until the transaction ends, so that no two commands check one budget at once.

    PostgreSQL locks the row; on SQLite the whole transaction already holds the write lock (IMMEDIATE).
    """
    return (
        Session.objects.select_for_update(of=("self",))
        .select_related("protocol", "problem")
        .get(pk=session_id)
    )


def append_event(
    session: Session,
    kind: Event.Kind,
    data: dict[str, Any],
    *,
    actor: User | None = None,
    command: UUID | None = None,
    at: datetime | None = None,
) -> Event:
    """Append an event to a locked session and ring its doorbell after the commit."""
    last = session.events.order_by("-seq").values_list("seq", flat=True).first() or 0
    event = Event.objects.create(
        session=session,
        seq=last + 1,
        kind=kind,
        actor=actor,
        by=pseudonym(actor) if actor else "",
        data=data,
        command=command,
        at=at or timezone.now(),
    )
    transaction.on_commit(lambda: ring_session(session.pk))
    return event


def phase_of(message: Event) -> dict[str, str]:
    """What an event that follows from the message says of its phase: nothing, or that it belongs to the debrief."""
    return {"phase": DEBRIEF} if message.out_of_protocol else {}


def queue_reply(session: Session, message: Event) -> None:
    """Let a streamer write the model's reply to the message."""
    assert session.protocol is not None
    rules = rules_of(session.protocol)
    invited = message.data["mode"] == "code" or message.out_of_protocol
    live = invited or rules.uninvited_code == "count"
    held = rules.seconds_to_first_word if not session.scripted else None
    shown_from = None if held is None else timezone.now() + timedelta(seconds=held)
    Reply.objects.create(session=session, message=message, live=live, shown_from=shown_from)
    transaction.on_commit(ring_streamers)


@dataclass(frozen=True)
class Situation:
    """A locked session with all that a check needs."""

    session: Session
    events: list[Event]
    rules: Rules
    budget: Budget
    unfinished_reply: Reply | None

    @classmethod
    def of(cls, session: Session) -> Situation:
        if session.protocol is None:
            raise Refused("This trajectory was imported: it can be read, not continued.")
        events = list(session.events.all())
        rules = rules_of(session.protocol)
        return cls(
            session=session,
            events=events,
            rules=rules,
            budget=count_budget(session, events, rules),
            unfinished_reply=session.replies.select_related("message")
            .filter(state__in=Reply.UNFINISHED)
            .first(),
        )

    @property
    def programs(self) -> list[Event]:
        """The replies that counted as generations of code."""
        return [event for event in self.events if event.kind == Event.Kind.REPLY and event.data["code"]]

    @property
    def latest_program(self) -> Event | None:
        """The program that an execution would judge."""
        return self.programs[-1] if self.programs else None

    @property
    def debrief_open(self) -> bool:
        """Whether tutor and model may talk on after the end: the protocol says so, and the model has spoken."""
        replied = any(event.kind == Event.Kind.REPLY for event in self.events)
        return self.rules.debrief and self.session.state == Session.State.CLOSED and replied

    @property
    def last_reply_failed(self) -> bool:
        """Whether the model still owes the answer to the last message because its provider failed."""
        kinds = [
            event.kind
            for event in self.events
            if event.kind in (Event.Kind.MESSAGE, Event.Kind.REPLY, Event.Kind.REPLY_FAILED)
        ]
        return bool(kinds) and kinds[-1] == Event.Kind.REPLY_FAILED


@dataclass(frozen=True, kw_only=True)
class SessionAction(ABC):
    """A person's command on one session. `command` is the browser's id for it: repeated, it changes nothing."""

    session_id: UUID
    person: User
    command: UUID

    def execute(self) -> None:
        """Carry the command out once. Raises PermissionDenied, Session.DoesNotExist or Refused.

        A refusal is recorded as an event too: reviewers see what was tried.
        """
        with transaction.atomic():
            session = lock_session(self.session_id)
            self.check_person(session)
            earlier = session.events.filter(command=self.command).first()
            if earlier is None:
                refusal = self._carry_out(session)
            else:
                refusal = earlier.data["message"] if earlier.kind == Event.Kind.REFUSED else None
        if refusal is not None:
            raise Refused(refusal)

    def _carry_out(self, session: Session) -> str | None:
        try:
            self.perform(session)
        except Refused as refused:
            data = {"action": type(self).__name__, "message": str(refused)}
            append_event(session, Event.Kind.REFUSED, data, actor=self.person, command=self.command)
            return str(refused)
        return None

    def check_person(self, session: Session) -> None:
        """By default only the session's own tutor may act on it; others learn nothing about it."""
        if session.tutor_id != self.person.pk:
            raise Session.DoesNotExist
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("You are not a tutor any more.")

    @abstractmethod
    def perform(self, session: Session) -> None:
        """Check the rules (raising Refused before anything is written) and append the event."""
