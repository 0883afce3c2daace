"""The tables of tutoring: protocols, sessions and events, replies in the making, drafts, reviews, checks."""

from tutoring.models.protocols import Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, Settlement, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import Draft, Event, Session

__all__ = [
    "AuditEntry",
    "Draft",
    "Event",
    "Finding",
    "Flag",
    "Protocol",
    "Reply",
    "ReplyDelta",
    "Review",
    "RuleCheck",
    "Session",
    "Settlement",
    "TrainingResult",
]
