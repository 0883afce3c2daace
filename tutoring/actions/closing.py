"""Ending a session without an execution, and taking a bad one out of the figures."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices
from django.utils import timezone

from accounts.roles import Role, has_role
from tutoring.checks.checking import check_once_closed
from tutoring.models import AuditEntry, Event, Session
from tutoring.scores.program_scores import request_scores
from tutoring.sessions.session_action import Refused, SessionAction, Situation, append_event


class AbandonReason(TextChoices):
    """Why a session is given up."""

    MODEL_STUCK = "model_stuck", "The model does not get any further"
    RULES = "rules", "I could only help by breaking the rules"
    TUTOR_STUCK = "tutor_stuck", "I do not see what is wrong myself"
    TECHNICAL = "technical", "Something did not work"
    NO_TIME = "no_time", "I have no time left"
    MISTAKE = "mistake", "I opened it by mistake"
    OTHER = "other", "Another reason"


@dataclass(frozen=True, kw_only=True)
class CloseSession(SessionAction):
    """Give the session up, with a reason of the list and words of one's own, which "other" must have.

    It counts as one of the sessions on the problem.
    """

    why: AbandonReason = AbandonReason.OTHER
    reason: str

    def perform(self, session: Session) -> None:
        if session.state == Session.State.CLOSED:
            raise Refused("This session is closed.")
        if session.state == Session.State.JUDGING:
            raise Refused("The program is being executed; the session ends with its verdict.")
        if Situation.of(session).unfinished_reply is not None:
            raise Refused("The model is still replying. Wait for it, or stop it.")
        if self.why == AbandonReason.OTHER and not self.reason.strip():
            raise Refused("Say in a few words why you give the session up.")
        session.state = Session.State.CLOSED
        session.outcome = Session.Outcome.ABANDONED
        session.closed_at = timezone.now()
        session.save(update_fields=["state", "outcome", "closed_at"])
        reason = self.reason.strip() or self.why.label
        data = {"why": self.why, "reason": reason, "outcome": session.outcome}
        append_event(session, Event.Kind.CLOSED, data, actor=self.person, command=self.command)
        check_once_closed(session)
        request_scores(session)


@dataclass(frozen=True, kw_only=True)
class Invalidate(SessionAction):
    """Mark a session as not to be counted, with author and reason. Nothing is deleted."""

    reason: str

    def check_person(self, session: Session) -> None:
        if not has_role(self.person, Role.ADMIN):
            raise PermissionDenied("Only admins invalidate sessions.")

    def perform(self, session: Session) -> None:
        if not self.reason.strip():
            raise Refused("Say why the session must not be counted.")
        if session.invalidated:
            raise Refused("The session is already invalidated.")
        session.invalidated = True
        session.save(update_fields=["invalidated"])
        data = {"reason": self.reason.strip()}
        append_event(session, Event.Kind.INVALIDATED, data, actor=self.person, command=self.command)
        AuditEntry.objects.create(
            command=self.command, action="Invalidate", person=self.person, session=session, data=data
        )
