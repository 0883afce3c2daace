"""The only writers of sessions: each checks who asks and what is left, and appends its event, at once.

Views, the streamer, workers and management commands all call these; nothing else writes an event.
"""

from tutoring.actions.checking import CheckDraft, check_session
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
from tutoring.actions.near_misses import remind_of_near_misses
from tutoring.actions.session_action import Refused
from tutoring.actions.streaming import (
    ClaimedReply,
    Delta,
    append_deltas,
    claim_replies,
    fail_reply,
    finish_reply,
    keep_answer,
    restart_reply,
)

__all__ = [
    "AbandonReason",
    "AcceptConsent",
    "AskAgain",
    "CheckDraft",
    "ClaimedReply",
    "CloseSession",
    "ConsentMissing",
    "Delta",
    "DraftChanged",
    "Execute",
    "Invalidate",
    "Refused",
    "SaveDraft",
    "SendMessage",
    "StartSession",
    "StopReply",
    "append_deltas",
    "check_session",
    "claim_replies",
    "consent_of",
    "fail_reply",
    "finish_reply",
    "keep_answer",
    "practice_student_knows",
    "record_verdict",
    "remind_of_near_misses",
    "restart_reply",
]
