"""The automatic conduct of studies: expiry, replacement, changed problems and models, stopping, closing.

The workers call `advance_studies` every few seconds (tutoring.sweeps).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from benchmark.models import WorkItem
from tutoring.actions import close_expired
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.studies.actions import close, exclude_changed_problem, lock_study, look, stop_offering
from tutoring.studies.analysis import StudyData, current_figures
from tutoring.studies.design import parse_frozen
from tutoring.studies.outcomes import snapshots
from tutoring.studies.reading import fingerprint
from tutoring.studies.replacement import exclude_unstarted, record_deviation, replace

State = Assignment.State

_states: dict[int, object] = {}
"""The rows of each study as this process last saw them: figures are computed only after they change."""


def advance_studies() -> None:
    """Bring every unfinished study up to date. Repeated calls change nothing."""
    for study_id in Study.objects.filter(state__in=Study.UNFINISHED).values_list("pk", flat=True):
        advance_study(study_id)


def advance_study(study_id: int) -> None:
    """Expire and replace assignments, record deviations, apply the stopping rule, and close a study that has ended."""
    now = timezone.now()
    for session_id in _expired_sessions(study_id, now):
        close_expired(session_id, "The time of the session expired.")
    with transaction.atomic():
        study = lock_study(study_id)
        if study.state not in Study.UNFINISHED:
            return
        _expire_offers(study, now)
        _follow_chains(study)
        _exclude_changed_problems(study)
        seen = fingerprint(study)
        if _states.get(study_id) == seen:
            return
        _record_model_changes(study)
        _apply_stopping_rule(study)
        _close_if_ended(study)
    _states[study_id] = seen


def _expired_sessions(study_id: int, now: datetime) -> list[UUID]:
    """Return the ids of open sessions whose time has expired, after a deviation for each."""
    with transaction.atomic():
        study = lock_study(study_id)
        rows = list(study.assignments.filter(state=State.OPEN, expires_at__lte=now, session__isnull=False))
        for row in rows:
            if not row.deviations.filter(kind=Deviation.Kind.EXPIRED_SESSION).exists():
                text = "The session was not finished in time. It counts as not solved."
                record_deviation(study, Deviation.Kind.EXPIRED_SESSION, text, [row])
        return [row.session_id for row in rows if row.session_id is not None]


def _expire_offers(study: Study, now: datetime) -> None:
    for row in study.assignments.filter(state=State.OFFERED, expires_at__lte=now).order_by("pk"):
        row.state, row.ended_at = State.EXPIRED, now
        row.save(update_fields=["state", "ended_at"])
        replace(row)


def _follow_chains(study: Study) -> None:
    """Give the assignments of automatic arms their chains, and the states of these."""
    waiting = study.assignments.filter(
        arm__kind=Arm.Kind.AUTOMATIC, arm__run__isnull=False, state__in=Assignment.UNFINISHED
    )
    for run_id in waiting.order_by("arm__run").values_list("arm__run", flat=True).distinct():
        rows = WorkItem.objects.filter(run=run_id).values_list(
            "pk", "problem", "chain", "state", "permanent", "judgement__finished_at"
        )
        items = {(item.problem, item.chain): item for item in (_Chain(*row) for row in rows)}
        changed = []
        for row in waiting.filter(arm__run=run_id):
            item = items.get((row.problem_id, row.replicate - 1))
            if item is not None and _follow(row, item):
                changed.append(row)
        Assignment.objects.bulk_update(changed, ["work_item", "state", "ended_at"], batch_size=500)


class _Chain(NamedTuple):
    """The columns of a work item that its assignment repeats."""

    pk: int
    problem: int
    chain: int
    state: str
    permanent: bool
    finished_at: datetime | None


def _follow(row: Assignment, item: _Chain) -> bool:
    """Set the chain and the state of the assignment; return whether they changed."""
    before = row.work_item_id, row.state
    row.work_item_id = item.pk
    if item.state == WorkItem.State.DONE or (item.state == WorkItem.State.FAILED and item.permanent):
        row.state, row.ended_at = State.DONE, item.finished_at or timezone.now()
    elif item.state != WorkItem.State.PENDING:
        row.state = State.OPEN
    return (row.work_item_id, row.state) != before


def _exclude_changed_problems(study: Study) -> None:
    unfinished = study.assignments.filter(state__in=Assignment.UNFINISHED)
    imported = (
        unfinished.filter(problem__imported_at__gt=study.frozen_at)
        .order_by("problem")
        .values_list("problem", "problem__dataset__name", "problem__external_id", "problem__content_hash")
        .distinct()
    )
    rows = list(imported)
    if not rows:
        return
    frozen = parse_frozen(study.design).hashes
    for key, dataset, name, content_hash in rows:
        if frozen[f"{dataset}/{name}"] != content_hash:
            exclude_changed_problem(study, key)


def _record_model_changes(study: Study) -> None:
    """Record a deviation for each model name that a provider returned after another one, once for each arm."""
    names = snapshots(study)
    recorded = set(
        study.deviations.filter(kind=Deviation.Kind.MODEL_CHANGED).values_list("data__arm", "data__now")
    )
    for arm in study.arms.all():
        rows = [row for row in arm.assignments.order_by("opened_at", "pk") if row.pk in names]
        if not rows:
            continue
        first = names[rows[0].pk]
        for name in sorted({names[row.pk] for row in rows} - {first}):
            if (arm.name, name) not in recorded:
                record_deviation(
                    study,
                    Deviation.Kind.MODEL_CHANGED,
                    f"Replies in arm {arm.name} name the model {name}, those before name {first}.",
                    [row for row in rows if names[row.pk] == name],
                    data={"arm": arm.name, "first": first, "now": name},
                )


def _apply_stopping_rule(study: Study) -> None:
    """Record a look that stops the study if its rule says so. Other computations of the rule are not recorded.

    Sessions that are not started are excluded once enough are, although outcomes of those may be unknown.
    """
    if study.state != Study.State.RUNNING:
        return
    data = StudyData.of(study)
    if current_figures(study, data).stop:
        look(study, None)
    elif data.maximum_started:
        exclude_unstarted(study)


def _close_if_ended(study: Study) -> None:
    """Close the study if every assignment has ended and every outcome is known."""
    if study.state == Study.State.FROZEN:
        return
    data = StudyData.of(study)
    if any(row.state in Assignment.UNFINISHED for row in data.rows):
        return
    if _unknown(data, data.rows):
        return
    if study.state == Study.State.RUNNING:
        stop_offering(study)
    close(study)


def _unknown(data: StudyData, rows: Iterable[Assignment]) -> bool:
    return any(row.state == State.DONE and data.value(row) is None for row in rows)
