"""The parts that all commands on a session share: the lock, the permission, and the record of a refusal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.roles import Role, has_role
from tutoring.models import Session
from tutoring.models.payloads import CommandRefused
from tutoring.sessions.context import RefusedError
from tutoring.sessions.recording import append_event

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SessionAction(ABC):
    """A person's command on one session. `command` is the id that the browser gave it."""

    session_id: UUID
    person: User
    command: UUID

    def execute(self) -> None:
        """Carry out the command. If its id is already recorded, change nothing.

        Raises PermissionDenied, Session.DoesNotExist, or RefusedError, which is also recorded as an event.
        """
        with transaction.atomic():
            session = Session.objects.get_locked(self.session_id)
            self.check_person(session)
            earlier = session.events.filter(command=self.command).first()
            if earlier is None:
                refusal = self._perform(session)
            else:
                payload = earlier.payload
                refusal = payload.message if isinstance(payload, CommandRefused) else None
        logger.info(
            "command",
            action=type(self).__name__,
            session=str(self.session_id),
            account=self.person.pk,
            command=str(self.command),
            repeated=earlier is not None,
            refused=refusal is not None,
        )
        if refusal is not None:
            raise RefusedError(refusal)

    def _perform(self, session: Session) -> str | None:
        """Perform the command; return the refusal, which is recorded, or None."""
        try:
            self.perform(session)
        except RefusedError as refused:
            payload = CommandRefused(action=type(self).__name__, message=str(refused))
            append_event(session, payload, actor=self.person, command=self.command)
            return str(refused)
        return None

    def check_person(self, session: Session) -> None:
        """Raise Session.DoesNotExist unless the person is the session's tutor, PermissionDenied without the role."""
        if session.tutor_id != self.person.pk:
            raise Session.DoesNotExist
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("You no longer have the role of a tutor.")

    @abstractmethod
    def perform(self, session: Session) -> None:
        """Check the rules and append the event. Raises RefusedError before anything is written."""
