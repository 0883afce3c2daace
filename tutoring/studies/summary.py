"""Summaries of studies for lists and pages: progress, next step, loads of tutors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Q

from accounts.pseudonyms import pseudonym
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.studies.runs import WAITING, held_arms


@dataclass(frozen=True)
class StudySummary:
    """A study with its progress and the sentence that says what to do next."""

    study: Study
    done: int
    assigned: int
    """Assignments that are neither excluded nor expired."""
    next_step: str


def summaries(studies: Sequence[Study]) -> list[StudySummary]:
    """Return the summary of each study. The number of queries does not depend on the number of studies."""
    counts: dict[int, Counter[str]] = {study.pk: Counter() for study in studies}
    rows = Assignment.objects.filter(study__in=studies).order_by().values_list("study", "state")
    for study, state, number in rows.annotate(Count("pk")):
        counts[study][state] = number
    reports = Counter(
        Deviation.objects.filter(study__in=studies, kind=Deviation.Kind.REPORT, settlement=None).values_list(
            "study", flat=True
        )
    )
    held = held_arms(studies)
    arms = Arm.objects.filter(WAITING, study__in=studies)
    waiting = set(arms.exclude(held).values_list("study", flat=True))
    yoked: dict[int, list[str]] = {}
    for study, name in arms.filter(held).order_by("position").values_list("study", "name"):
        yoked.setdefault(study, []).append(name)
    found = []
    for study in studies:
        own = counts[study.pk]
        step = next_step(
            study,
            own,
            reports[study.pk],
            runs_waiting=study.pk in waiting,
            yoked_arms=yoked.get(study.pk, ()),
        )
        assigned = sum(number for state, number in own.items() if state not in Assignment.LEFT_OUT)
        found.append(StudySummary(study, own[Assignment.State.DONE], assigned, step))
    return found


def next_step(
    study: Study, states: Counter[str], reports: int, *, runs_waiting: bool, yoked_arms: Sequence[str]
) -> str:
    """Return what an admin does next, in a sentence or two.

    `yoked_arms` are the arms whose runs start after all sessions of people have ended.
    """
    unfinished = sum(states[state] for state in Assignment.UNFINISHED)
    if study.state == Study.State.DRAFT:
        return "Complete the design, look at its power, and freeze it."
    if study.state == Study.State.CLOSED:
        return "Read the results, and export the study."
    if reports:
        return f"Settle {reports} report{'s' if reports > 1 else ''} of tutors."
    if runs_waiting and study.state in Study.OFFERING:
        return "Start or resume the runs of the automatic arms."
    if not unfinished:
        return "Close the study."
    if study.state == Study.State.FROZEN:
        step = "Wait for the tutors: “Your next session” is on their pages."
    elif yoked_arms:
        step = "Wait until the sessions of people have ended."
    elif unfinished > 1:
        step = f"Wait for {unfinished} sessions and chains."
    else:
        step = "Wait for the last session or chain."
    if yoked_arms:
        step += f" Then start the runs of the arms yoked to them: {', '.join(yoked_arms)}."
    return step


@dataclass(frozen=True)
class TutorLoad:
    """The sessions of one tutor: in all, done, and by arm in the order of the design."""

    tutor: int
    name: str
    """The pseudonym."""
    assigned: int
    done: int
    by_arm: tuple[int, ...]


def tutor_loads(study: Study, arms: Sequence[Arm]) -> list[TutorLoad]:
    """Return the loads of the study's tutors, without excluded and expired assignments, by pseudonym. Two queries."""
    rows = (
        study.assignments.filter(tutor__isnull=False)
        .exclude(state__in=Assignment.LEFT_OUT)
        .order_by()
        .values_list("tutor", "arm")
        .annotate(Count("pk"), done=Count("pk", filter=Q(state=Assignment.State.DONE)))
    )
    numbers: dict[int, Counter[int]] = {}
    done: Counter[int] = Counter()
    for tutor, arm, number, finished in rows:
        numbers.setdefault(tutor or 0, Counter())[arm] = number
        done[tutor or 0] += finished
    people = User.objects.in_bulk(numbers)
    found = [
        TutorLoad(
            key,
            pseudonym(people[key]),
            own.total(),
            done[key],
            tuple(own[arm.pk] for arm in arms),
        )
        for key, own in numbers.items()
    ]
    return sorted(found, key=lambda one: one.name)
