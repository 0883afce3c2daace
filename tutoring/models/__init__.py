"""The tables of tutoring: protocols, sessions and events, replies in the making, drafts, reviews."""

from tutoring.models.protocols import Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, Settlement
from tutoring.models.sessions import Draft, Event, Session

__all__ = [
    "AuditEntry",
    "Draft",
    "Event",
    "Flag",
    "Protocol",
    "Reply",
    "ReplyDelta",
    "Review",
    "Session",
    "Settlement",
]
