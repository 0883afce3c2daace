"""Deviations, exclusions and replacements: the steps that several commands on studies share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from accounts.roles import Role, has_role
from tutoring.models import Assignment, Deviation, Session, Study


def record_deviation(
    study: Study,
    kind: Deviation.Kind,
    reason: str,
    rows: Sequence[Assignment] = (),
    *,
    by: User | None = None,
    data: dict[str, Any] | None = None,
    settles: Deviation | None = None,
) -> Deviation:
    """Append a deviation that concerns these assignments. Call it in a transaction."""
    found = Deviation.objects.create(
        study=study, kind=kind, reason=reason, by=by, data=data or {}, settles=settles
    )
    found.assignments.set(rows)
    return found


STOPPED = "stopped"
"""The reason of assignments that were not started when their study stopped to offer sessions."""


def exclude_unstarted(study: Study) -> list[Assignment]:
    """Exclude the assignments of tutors that are planned or offered, and return them."""
    unopened = study.assignments.select_for_update().filter(state__in=Assignment.UNOPENED)
    rows = list(unopened.filter(tutor__isnull=False))
    exclude(rows, STOPPED)
    return rows


def exclude(rows: Iterable[Assignment], reason: str) -> None:
    """Exclude the assignments for this reason, from now on. Call it in a transaction."""
    Assignment.objects.filter(pk__in=[row.pk for row in rows]).update(
        state=Assignment.State.EXCLUDED, reason=reason, ended_at=timezone.now()
    )


def replace(assignment: Assignment) -> Assignment | None:
    """Return the replacement of an ended assignment: its cell goes to the eligible tutor with the fewest sessions.

    A tutor of the study is eligible if the tutor has no assignment on the problem and had no session on it. If no tutor
    is eligible, a deviation says so. A study that offers nothing more is left as it is.
    """
    study = Study.objects.get(pk=assignment.study_id)
    if study.state not in Study.OFFERING:
        return None
    chosen = _next_tutor(study, assignment)
    if chosen is None:
        record_deviation(
            study,
            Deviation.Kind.NO_REPLACEMENT,
            "No tutor of the study can take the problem: each had it in this study or before.",
            [assignment],
        )
        return None
    last = study.assignments.filter(tutor=chosen).order_by("-order").values_list("order", flat=True).first()
    return Assignment.objects.create(
        study=study,
        arm_id=assignment.arm_id,
        problem_id=assignment.problem_id,
        replicate=assignment.replicate,
        tutor=chosen,
        order=(last or 0) + 1,
        replaces=assignment,
    )


def _next_tutor(study: Study, assignment: Assignment) -> User | None:
    here = study.assignments.filter(problem=assignment.problem_id).values("tutor")
    earlier = Session.objects.filter(problem=assignment.problem_id, tutor__isnull=False).values("tutor")
    able = study.tutors.exclude(pk__in=here.filter(tutor__isnull=False)).exclude(pk__in=earlier)
    counted = study.assignments.exclude(state__in=Assignment.LEFT_OUT)
    loads = Counter(counted.filter(tutor__isnull=False).values_list("tutor", flat=True))

    def rank(person: User) -> tuple[int, str]:
        # Ties are decided by the seed, which keeps the next tutor unpredictable.
        tie = hashlib.sha256(f"{study.seed}:replaces {assignment.pk}:{person.pk}".encode()).hexdigest()
        return loads[person.pk], tie

    candidates = [person for person in able if has_role(person, Role.TUTOR)]
    return min(candidates, key=rank, default=None)
