"""The tables of tutoring: protocols, sessions and their parts, rule checks, reviews, program scores and studies."""

from tutoring.models.choices import AbandonReason
from tutoring.models.notes import PrivateNote
from tutoring.models.program_scores import ProgramScore
from tutoring.models.protocols import Consent, Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, ReviewOutcome, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import DEBRIEF, Draft, Event, Session
from tutoring.models.studies import Arm, Assignment, Deviation, Look, Study
from tutoring.models.withdrawals import Withdrawal, WithdrawnSession

__all__ = [
    "DEBRIEF",
    "AbandonReason",
    "Arm",
    "Assignment",
    "AuditEntry",
    "Consent",
    "Deviation",
    "Draft",
    "Event",
    "Finding",
    "Flag",
    "Look",
    "PrivateNote",
    "ProgramScore",
    "Protocol",
    "Reply",
    "ReplyDelta",
    "Review",
    "ReviewOutcome",
    "RuleCheck",
    "Session",
    "Study",
    "TrainingResult",
    "Withdrawal",
    "WithdrawnSession",
]
