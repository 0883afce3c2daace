"""Decisions of admins on the results of trainings of the text model, and the figures on which they decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.roles import Role
from tutoring.checks.draft_scores import Share
from tutoring.models import TextModelTraining
from tutoring.review.actions import ReviewAction
from tutoring.rules.detectors.text_model import chosen_model
from tutoring.rules.text_model import OutdatedModelError, unpacked, version_in, write
from tutoring.sessions.context import RefusedError


@dataclass(frozen=True, kw_only=True)
class DecideTextModel(ReviewAction):
    """An action that uses the model of a training instead of the former one, also again, or discards it."""

    training_id: int
    use: bool

    def perform(self, now: datetime) -> None:
        """Store the decision. Raise TextModelTraining.DoesNotExist, and RefusedError for another state."""
        self.require(Role.ADMIN)
        training = TextModelTraining.objects.select_for_update().get(pk=self.training_id)
        states = TextModelTraining.State
        decidable = (states.DONE, states.USED) if self.use else (states.DONE,)
        if training.state not in decidable or training.model is None:
            raise RefusedError(
                f"This training is {training.state}. Only the model of a finished training can be used or discarded."
            )
        content = bytes(training.model)
        if self.use:
            try:
                unpacked(content, f"Training {training.pk}")
            except OutdatedModelError as error:
                raise RefusedError(f"{error} Discard it and request a new training.") from None
        training.state = states.USED if self.use else states.DISCARDED
        training.decided_by, training.decided_at = self.person, now
        if not self.use:
            training.model = None
        training.save(update_fields=["state", "decided_by", "decided_at", "model"])
        self.record(None, training=training.pk, use=self.use, version=training.version)
        if self.use:
            transaction.on_commit(lambda: write(content, settings.TEXT_MODEL))


@dataclass(frozen=True, kw_only=True)
class UseShippedTextModel(ReviewAction):
    """An action that uses the shipped model again."""

    def perform(self, _now: datetime) -> None:
        """Delete the site's own model. Its training stays stored."""
        self.require(Role.ADMIN)
        own: Path = settings.TEXT_MODEL
        self.record(None, version=version_in(own) if own.exists() else None)
        transaction.on_commit(lambda: own.unlink(missing_ok=True))


def chosen_version() -> int:
    """Return the version of the model that processes use after their next start."""
    return chosen_model().version


@dataclass(frozen=True)
class FigureRow:
    """A row of the table of figures: a clause or a sum, with the figures of the new and of the former model."""

    name: str
    everywhere: Share
    site: Share
    former: Share


def figure_rows(figures: Mapping[str, Any]) -> list[FigureRow]:
    """Return the recall of each clause and of all, and the share of allowed messages flagged."""
    documents = [figures[name] for name in ("all", "site", "site_former")]
    rows = [
        FigureRow(f"Recall of {clause}", *(Share(*one["clauses"][clause][0]) for one in documents))
        for clause in figures["all"]["clauses"]
    ]
    rows.append(FigureRow("Recall of all clauses", *(Share(*one["recall"]) for one in documents)))
    rows.append(FigureRow("Allowed messages flagged", *(Share(*one["flagged"]) for one in documents)))
    return rows
