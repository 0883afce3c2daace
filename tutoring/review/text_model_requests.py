"""Trainings of the text model that admins request. `text_model_decisions.py` decides on their results.

The row holds the request, the figures and the model. A job in the queue (`text_model_jobs.py`) only points to it.
Every worker imports this module to search for lost requests, so it loads no model and no detector.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from accounts.pseudonyms import pseudonym
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
    writers = writers_of_sessions()
    return TrainingData(len(writers), len(set(writers.values())))


def writers_of_sessions() -> dict[UUID, str]:
    """Return the writer of the tutor's messages in each session with a settled review.

    Writers are people by their pseudonym, here or in an imported record, and the policies of automatic sessions, each
    with its model. All sessions without a known tutor have one writer.
    """
    settled = counted_review_outcomes(current_rule_set().version).exclude(verdict="")
    people = User.objects.filter(pk__in=settled.values("session__tutor"))
    names = {person.pk: pseudonym(person) for person in people}
    rows = settled.order_by().values_list(
        "session",
        "session__tutor",
        "session__source__head__tutor",
        "session__work_item__run__method",
        "session__work_item__run__parameters__tutor",
        "session__work_item__run__model_spec",
    )
    return {
        session: names.get(tutor) or recorded or (f"{method} {model or student}" if method else "unknown")
        for session, tutor, recorded, method, model, student in rows
    }


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
