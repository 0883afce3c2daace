"""The tables of tutoring: protocols, sessions and their parts, checks, reviews, program scores, studies, replays."""

from tutoring.models.arm_chains import ArmChains
from tutoring.models.choices import AbandonReason
from tutoring.models.draft_checks import DraftCheckRequest
from tutoring.models.effort import SessionEffort
from tutoring.models.model_drafts import DraftRequest
from tutoring.models.notes import PrivateNote
from tutoring.models.program_scores import ProgramScore
from tutoring.models.protocols import Consent, Protocol
from tutoring.models.replay import (
    ApplicabilityLabel,
    HintCard,
    Placement,
    ReplayDraw,
    ReplayRun,
    ReplayState,
)
from tutoring.models.replies import Reply, ReplyDelta
from tutoring.models.review import AuditEntry, Flag, Review, ReviewOutcome, StoredFigures, TrainingResult
from tutoring.models.rules import Finding, RuleCheck
from tutoring.models.sessions import DEBRIEF, Draft, DraftWarning, Event, Session
from tutoring.models.studies import Arm, Assignment, Deviation, Look, Study
from tutoring.models.text_models import TextModelTraining
from tutoring.models.withdrawals import Withdrawal, WithdrawnSession

__all__ = [
    "DEBRIEF",
    "AbandonReason",
    "ApplicabilityLabel",
    "Arm",
    "ArmChains",
    "Assignment",
    "AuditEntry",
    "Consent",
    "Deviation",
    "Draft",
    "DraftCheckRequest",
    "DraftRequest",
    "DraftWarning",
    "Event",
    "Finding",
    "Flag",
    "HintCard",
    "Look",
    "Placement",
    "PrivateNote",
    "ProgramScore",
    "Protocol",
    "ReplayDraw",
    "ReplayRun",
    "ReplayState",
    "Reply",
    "ReplyDelta",
    "Review",
    "ReviewOutcome",
    "RuleCheck",
    "Session",
    "SessionEffort",
    "StoredFigures",
    "Study",
    "TextModelTraining",
    "TrainingResult",
    "Withdrawal",
    "WithdrawnSession",
]
