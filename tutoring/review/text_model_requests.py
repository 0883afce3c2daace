"""Trainings of the text model that admins request. `text_model_decisions.py` decides on their results.

The row holds the request, the figures and the model. A job in the queue (`text_model_jobs.py`) only points to it.
Every worker imports this module to search for lost requests, so it loads no model and no detector.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.roles import Role
from benchmark.jobs import RowJobs, late_or_lost
from tutoring.models import TextModelTraining
from tutoring.review.actions import ReviewAction
from tutoring.review.agreement import counted_review_outcomes
from tutoring.rules import current_rule_set
from tutoring.sessions.context import RefusedError

QUEUE = "background"
"""The queue that workers serve after runs."""

LEAST_SESSIONS, LEAST_TUTORS = 10, 2
"""The minimum numbers of sessions with a settled review, and of their tutors, for a training."""

_JOBS = RowJobs("tutoring.review.text_model_jobs.perform_training", "training")


@dataclass(frozen=True)
class TrainingData:
    """The training data of the site: sessions with a settled review, and their tutors."""

    sessions: int
    tutors: int

    @property
    def missing(self) -> str:
        """Return what is missing for a training; an empty text if nothing is."""
        if self.sessions < LEAST_SESSIONS:
            return (
                f"{LEAST_SESSIONS} sessions with a settled review are needed; the site has {self.sessions}."
            )
        if self.tutors < LEAST_TUTORS:
            return f"Sessions of {LEAST_TUTORS} tutors are needed; the site has those of {self.tutors}."
        return ""


def material_of_site() -> TrainingData:
    """Return the number of sessions with a settled review, and of their tutors."""
    settled = counted_review_outcomes(current_rule_set().version).exclude(verdict="")
    tutors = settled.order_by().values("session__tutor").distinct()
    return TrainingData(settled.count(), tutors.count())


@dataclass(frozen=True, kw_only=True)
class RequestTextModelTraining(ReviewAction):
    """An action that requests a training on the labelled drafts and the settled reviews."""

    def perform(self, _now: datetime) -> None:
        """Store the request. Raise RefusedError if another training is unfinished, or reviews are missing."""
        self.require(Role.ADMIN)
        if TextModelTraining.objects.filter(state__in=TextModelTraining.UNFINISHED).exists():
            raise RefusedError("A training is not finished. Wait for its result.")
        if missing := material_of_site().missing:
            raise RefusedError(missing)
        training = TextModelTraining.objects.create(requested_by=self.person)
        self.record(None, training=training.pk)
        transaction.on_commit(lambda: _JOBS.enqueue(training.pk, QUEUE))


def requeue_lost_trainings() -> None:
    """Put a job into the queue for each unfinished training without a worker or a job. Raise redis.RedisError."""
    lost = late_or_lost(TextModelTraining.objects.all(), "requested_at")
    _JOBS.enqueue_missing(lost.values_list("pk", flat=True), QUEUE)
