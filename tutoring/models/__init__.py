"""The tables of tutoring: protocols, sessions, events, drafts, replies, rule checks, reviews and program scores."""

from tutoring.models.choices import AbandonReason
from tutoring.models.program_scores import ProgramScore
from tutoring.models.protocols import Consent, Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, ReviewOutcome, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import DEBRIEF, Draft, Event, Session

__all__ = [
    "DEBRIEF",
    "AbandonReason",
    "AuditEntry",
    "Consent",
    "Draft",
    "Event",
    "Finding",
    "Flag",
    "ProgramScore",
    "Protocol",
    "Reply",
    "ReplyDelta",
    "Review",
    "ReviewOutcome",
    "RuleCheck",
    "Session",
    "TrainingResult",
]
