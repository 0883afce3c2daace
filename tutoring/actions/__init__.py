"""Commands on sessions. Each checks permission, state and budget, and appends its event in one transaction.

Views, the streamer, workers and management commands call them. Replies are written by `tutoring.replies`.
"""

from tutoring.actions.closing import CloseSession, Invalidate, close_expired
from tutoring.actions.execution import Execute, RunSamples, record_verdict, verdict_of
from tutoring.actions.messages import (
    AcceptConsent,
    AskAgain,
    ConsentMissingError,
    DraftChangedError,
    SaveUnsentText,
    SendMessage,
    StartSession,
    StopReply,
    consent_of,
    has_scripted_student,
    next_number,
)
from tutoring.actions.model_drafts import InsertDraft, RequestDraft

__all__ = [
    "AcceptConsent",
    "AskAgain",
    "CloseSession",
    "ConsentMissingError",
    "DraftChangedError",
    "Execute",
    "InsertDraft",
    "Invalidate",
    "RequestDraft",
    "RunSamples",
    "SaveUnsentText",
    "SendMessage",
    "StartSession",
    "StopReply",
    "close_expired",
    "consent_of",
    "has_scripted_student",
    "next_number",
    "record_verdict",
    "verdict_of",
]
