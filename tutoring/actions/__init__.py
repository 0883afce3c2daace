"""The only writers of sessions: each checks who asks and what is left, and appends its event, at once.

Views, the streamer, workers and management commands all call these; nothing else writes an event.
"""

from tutoring.actions.closing import AbandonReason, CloseSession, Invalidate
from tutoring.actions.execution import Execute, record_verdict
from tutoring.actions.messages import (
    AcceptConsent,
    AskAgain,
    ConsentMissing,
    DraftChanged,
    SaveDraft,
    SendMessage,
    StartSession,
    StopReply,
    consent_of,
    practice_student_knows,
)

__all__ = [
    "AbandonReason",
    "AcceptConsent",
    "AskAgain",
    "CloseSession",
    "ConsentMissing",
    "DraftChanged",
    "Execute",
    "Invalidate",
    "SaveDraft",
    "SendMessage",
    "StartSession",
    "StopReply",
    "consent_of",
    "practice_student_knows",
    "record_verdict",
]
