"""Flow, figures and boxes of a study for its pages, computed once for each state of its rows in each process."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max

from tutoring.models import ReviewOutcome, Study
from tutoring.studies.analysis import Figures, StudyData, current_figures, visible_figures
from tutoring.studies.flow import Flow, study_flow, terminal_box

_MOST_STUDIES = 50
"""Studies whose readings a process keeps."""

_readings: dict[str, tuple[object, StudyReading]] = {}


@dataclass(frozen=True)
class StudyReading:
    """The assignments of a study as its pages show them. `figures` is None while the results are locked."""

    flow: Flow
    figures: Figures | None
    boxes: dict[int, str]
    """The box of each assignment in the flow, by primary key."""


def read_study(study: Study) -> StudyReading:
    """Return the reading of a frozen study. Five queries if its rows have not changed since the last one."""
    seen = fingerprint(study)
    stored = _readings.get(study.seed)
    if stored is not None and stored[0] == seen:
        return stored[1]
    data = StudyData.of(study)
    ended = study.state in (Study.State.STOPPED, Study.State.CLOSED)
    figures = current_figures(study, data) if ended else visible_figures(study)
    reading = StudyReading(
        study_flow(study, data), figures, {row.pk: terminal_box(row, data) for row in data.rows}
    )
    if len(_readings) >= _MOST_STUDIES:
        _readings.clear()
    _readings[study.seed] = (seen, reading)
    return reading


def fingerprint(study: Study) -> object:
    """Return a value that changes with every row that outcomes and flow depend on: states only move forwards."""
    states = tuple(study.assignments.order_by("state").values_list("state").annotate(Count("pk")))
    reviews = ReviewOutcome.objects.filter(session__assignment__study=study).exclude(verdict="")
    invalidated = study.assignments.filter(session__invalidated=True).count()
    newest = reviews.aggregate(Count("pk"), Max("at"))
    return (
        study.state,
        states,
        tuple(newest.values()),
        invalidated,
        study.deviations.count(),
        study.looks.count(),
    )
