"""Closing a session without an execution, and excluding a session from the figures."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from accounts.roles import Role, has_role
from tutoring.actions.base import SessionAction
from tutoring.checks.checking import check_after_commit
from tutoring.models import AbandonReason, AuditEntry, Session
from tutoring.models.payloads import SessionClosed, SessionInvalidated
from tutoring.scores.growth import request_growth
from tutoring.scores.program_scores import request_scores
from tutoring.sessions.assignments import end_assignment
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.recording import append_event


@dataclass(frozen=True, kw_only=True)
class CloseSession(SessionAction):
    """An action that closes the session as abandoned, with a reason from the list and optional text.

    OTHER requires text.

    The session still counts as one of the tutor's sessions on the problem.
    """

    why: AbandonReason = AbandonReason.OTHER
    reason: str

    def perform(self, session: Session) -> None:
        SessionContext.of(session).refuse_unless_allowed("close")
        if self.why == AbandonReason.OTHER and not self.reason.strip():
            raise RefusedError("Say in a few words why you close the session.")
        payload = SessionClosed(
            reason=self.reason.strip() or self.why.label, outcome=Session.Outcome.ABANDONED, why=self.why
        )
        append_event(session, payload, actor=self.person, command=self.command)
        _abandon(session)


def close_expired(session_id: UUID, reason: str) -> bool:
    """Close a session whose time has expired as abandoned. Return False if it cannot be closed now."""
    with transaction.atomic():
        session = Session.objects.get_locked(session_id)
        if SessionContext.of(session).refusal("close") is not None:
            return False
        append_event(session, SessionClosed(reason=reason, outcome=Session.Outcome.ABANDONED))
        _abandon(session)
        return True


def _abandon(session: Session) -> None:
    now = timezone.now()
    session.state, session.outcome, session.closed_at = Session.State.CLOSED, Session.Outcome.ABANDONED, now
    session.save(update_fields=["state", "outcome", "closed_at"])
    end_assignment(session, now)
    check_after_commit(session)
    request_scores(session)
    request_growth(session)


@dataclass(frozen=True, kw_only=True)
class Invalidate(SessionAction):
    """An action that excludes a session from all figures, with author and reason. Nothing is deleted."""

    reason: str

    def check_person(self, _: Session) -> None:
        if not has_role(self.person, Role.ADMIN):
            raise PermissionDenied("Only admins invalidate sessions.")

    def perform(self, session: Session) -> None:
        if not self.reason.strip():
            raise RefusedError("Say why the session must not be counted.")
        if session.invalidated:
            raise RefusedError("The session is already invalidated.")
        session.invalidated = True
        session.save(update_fields=["invalidated"])
        payload = SessionInvalidated(reason=self.reason.strip())
        append_event(session, payload, actor=self.person, command=self.command)
        AuditEntry.objects.create(
            command=self.command,
            action="Invalidate",
            person=self.person,
            session=session,
            data=payload.to_json(),
        )
