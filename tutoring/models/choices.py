"""Named choices of sessions and their events."""

from __future__ import annotations

from django.db import models


class AbandonReason(models.TextChoices):
    """The reason for which a tutor abandons a session."""

    MODEL_STUCK = "model_stuck", "The model does not get any further"
    RULES = "rules", "I could only help by breaking the rules"
    TUTOR_STUCK = "tutor_stuck", "I do not see what is wrong myself"
    TECHNICAL = "technical", "Something did not work"
    NO_TIME = "no_time", "I have no time left"
    MISTAKE = "mistake", "I opened it by mistake"
    OTHER = "other", "Another reason"


class SessionOutcome(models.TextChoices):
    """The outcome of a closed session."""

    SOLVED = "solved"
    NOT_SOLVED = "not_solved", "not solved"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class EventKind(models.TextChoices):
    """The kind of an event of a session."""

    OPENED = "opened"
    MESSAGE = "message"
    STOP = "stop"
    ASKED_AGAIN = "asked_again"
    REPLY = "reply"
    REPLY_RESTARTED = "reply_restarted"
    REPLY_FAILED = "reply_failed"
    EXECUTION = "execution"
    EXECUTION_FAULT = "execution_fault"
    VERDICT = "verdict"
    SAMPLE_RUN = "sample_run"
    SAMPLE_RESULT = "sample_result"
    DRAFT_REQUESTED = "draft_requested", "Draft requested"
    MODEL_DRAFT = "model_draft", "Model draft"
    DRAFT_INSERTED = "draft_inserted", "Draft inserted"
    CLOSED = "closed"
    REFUSED = "refused"
    INVALIDATED = "invalidated"
    REREAD = "reread", "Read again"
    REJUDGED = "rejudged", "Judged again"
