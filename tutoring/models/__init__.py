"""The tables of tutoring: protocols, sessions and their events, replies in the making, drafts."""

from tutoring.models.protocols import Protocol
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.sessions import Draft, Event, Session

__all__ = ["Draft", "Event", "Protocol", "Reply", "ReplyDelta", "Session"]
