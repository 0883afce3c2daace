"""Looks at the results of a study, and its end."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from tutoring.models import Assignment, Deviation, Look, Study
from tutoring.studies.actions.base import StudyRefusedError, lock_study, require_admin
from tutoring.studies.analysis import current_figures
from tutoring.studies.design import parse_frozen
from tutoring.studies.replacement import STOPPED, exclude, exclude_unstarted, record_deviation


@dataclass(frozen=True)
class TakeLook:
    """An action that unlocks the results of a running study, and stops the study if its stopping rule says so."""

    person: User | None
    study_id: int

    def execute(self) -> Look:
        """Return the look. Raises PermissionDenied or StudyRefusedError."""
        require_admin(self.person)
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state != Study.State.RUNNING:
                raise StudyRefusedError(_no_look(study))
            rule = parse_frozen(study.design).design.stopping.rule
            if rule == "fixed":
                raise StudyRefusedError(
                    "The design has no looks: its results are unlocked when every session has ended, or when the "
                    "study is stopped."
                )
            return look(study, self.person)


def _no_look(study: Study) -> str:
    if study.state in (Study.State.STOPPED, Study.State.CLOSED):
        return f"{study} is {study.state}, so its results are unlocked already."
    return f"{study} is {study.state}. A look needs a running study."


def look(study: Study, person: User | None) -> Look:
    """Record a look at the locked study, and stop the study if its rule says so.

    Without a change since the last look, return that look.
    """
    figures = current_figures(study)
    last = study.looks.order_by("-pk").first()
    if last is not None and last.figures == figures.to_json():
        return last
    decision = Look.Decision.STOP if figures.stop else Look.Decision.CONTINUE
    taken = Look.objects.create(
        study=study, by=person, counted=figures.pairs, figures=figures.to_json(), decision=decision
    )
    if figures.stop:
        stop_offering(study)
    return taken


@dataclass(frozen=True)
class StopStudy:
    """An action that stops a study: no more sessions are offered.

    Sessions that were not started are excluded; open ones continue.
    """

    person: User | None
    study_id: int
    reason: str

    def execute(self) -> Study:
        """Return the study. Raises PermissionDenied or StudyRefusedError."""
        require_admin(self.person)
        if not self.reason.strip():
            raise StudyRefusedError("Say why the study stops.")
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state not in Study.OFFERING:
                raise StudyRefusedError(
                    f"{study} is {study.state}. Only a frozen or running study can be stopped."
                )
            stop(study, Deviation.Kind.STOPPED, self.reason.strip(), self.person)
            return study


def stop(
    study: Study,
    kind: Deviation.Kind,
    reason: str,
    person: User | None,
    data: dict[str, object] | None = None,
) -> None:
    """Stop the locked study with a deviation of this kind."""
    rows = stop_offering(study)
    record_deviation(study, kind, reason, rows, by=person, data=data)


def stop_offering(study: Study) -> list[Assignment]:
    """Set the locked study to stopped; return the assignments that were not started, which are excluded."""
    rows = exclude_unstarted(study)
    study.state, study.stopped_at = Study.State.STOPPED, timezone.now()
    study.save(update_fields=["state", "stopped_at"])
    return rows


@dataclass(frozen=True)
class CloseStudy:
    """An action that closes a stopped study, or one whose sessions have all ended.

    Its problems are free again, and its seed is public.
    """

    person: User | None
    study_id: int

    def execute(self) -> Study:
        """Return the study. Raises PermissionDenied or StudyRefusedError."""
        require_admin(self.person)
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state not in Study.UNFINISHED:
                raise StudyRefusedError(f"{study} is {study.state}.")
            unfinished = study.assignments.filter(
                state__in=Assignment.UNFINISHED, tutor__isnull=False
            ).count()
            if unfinished:
                raise StudyRefusedError(
                    f"{unfinished} sessions of {study} have not ended. Stop the study and wait for the open sessions, "
                    "or exclude them with a deviation."
                )
            close(study)
            return study


def close(study: Study) -> None:
    """Set the locked study to closed. Chains of automatic arms that are not done are excluded."""
    exclude(study.assignments.filter(state__in=Assignment.UNFINISHED), STOPPED)
    study.state, study.closed_at = Study.State.CLOSED, timezone.now()
    study.save(update_fields=["state", "closed_at"])
