"""The tables of tutoring: protocols, sessions and events, replies in the making, drafts, reviews, checks,
near misses."""

from tutoring.models.near_misses import NearMiss
from tutoring.models.protocols import Consent, Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, ReviewOutcome, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import DEBRIEF, Draft, Event, Session

__all__ = [
    "DEBRIEF",
    "AuditEntry",
    "Consent",
    "Draft",
    "Event",
    "Finding",
    "Flag",
    "NearMiss",
    "Protocol",
    "Reply",
    "ReplyDelta",
    "Review",
    "ReviewOutcome",
    "RuleCheck",
    "Session",
    "TrainingResult",
]
