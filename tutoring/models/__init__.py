"""The tables of tutoring: protocols, sessions, events, unfinished replies, drafts, reviews, checks, near misses."""

from tutoring.models.near_misses import NearMiss
from tutoring.models.protocols import Consent, Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, Settlement, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import DEBRIEF, AbandonReason, Draft, Event, Session

__all__ = [
    "DEBRIEF",
    "AbandonReason",
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
    "RuleCheck",
    "Session",
    "Settlement",
    "TrainingResult",
]
