"""Former and new verdicts of a rejudging, by run, session and study.

The verdicts of a study whose results are locked are left out for everybody, and those of an unfinished study for its
tutors: both would see outcomes before the study ends. Only their number is given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.urls import reverse

from accounts.roles import Person
from benchmark.models import Judgement, RejudgedProgram, Rejudging, Run
from tutoring.models import Assignment, Session, Study
from tutoring.sessions.assignments import concealed_studies

Role = RejudgedProgram.Role

K = TypeVar("K", UUID, str)


@dataclass(frozen=True)
class Transition:
    """The number of programs with the former and the new verdict; `near_limit` of them are near a time limit."""

    former: str
    verdict: str
    count: int
    near_limit: int

    @property
    def changed(self) -> bool:
        """Whether the verdicts differ."""
        return self.former != self.verdict


@dataclass(frozen=True)
class PlaceComparison:
    """The verdicts of one run, session or study. The transitions are those of its outcomes.

    `others` counts the changed verdicts of its other programs and of samples.
    """

    name: str
    address: str
    transitions: tuple[Transition, ...]
    others: int

    @property
    def outcomes(self) -> int:
        """The number of outcomes that were judged again."""
        return sum(one.count for one in self.transitions)

    @property
    def changed(self) -> int:
        """The number of outcomes whose verdict changed."""
        return sum(one.count for one in self.transitions if one.changed)

    @property
    def changes(self) -> list[Transition]:
        """The transitions with another verdict."""
        return [one for one in self.transitions if one.changed]


@dataclass(frozen=True)
class HiddenStudy:
    """A study whose verdicts are not shown, and the number of its programs."""

    name: str
    programs: int


@dataclass(frozen=True)
class RejudgingComparison:
    """The verdicts of a rejudging as one person may see them."""

    programs: int
    waiting: int
    faults: int
    """Programs that the judge could not judge; their former verdict remains."""
    transitions: tuple[Transition, ...]
    runs: tuple[PlaceComparison, ...]
    sessions: tuple[PlaceComparison, ...]
    studies: tuple[PlaceComparison, ...]
    hidden: tuple[HiddenStudy, ...]

    @property
    def changed(self) -> int:
        """The number of programs, on samples or all tests, whose verdict changed."""
        return sum(one.count for one in self.transitions if one.changed)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "programs": self.programs,
            "waiting": self.waiting,
            "faults": self.faults,
            "changed": self.changed,
            "transitions": [asdict(one) for one in self.transitions],
            **{
                name: [asdict(one) | {"changed": one.changed} for one in getattr(self, name)]
                for name in ("runs", "sessions", "studies")
            },
            "hidden": [asdict(one) for one in self.hidden],
        }


@dataclass
class _Tally:
    outcomes: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    others: int = 0

    def add(self, role: str, former: str, verdict: str, count: int, near: int) -> None:
        if role == Role.OUTCOME:
            counts = self.outcomes.setdefault((former, verdict), [0, 0])
            counts[0] += count
            counts[1] += near
        elif former != verdict:
            self.others += count

    def transitions(self) -> tuple[Transition, ...]:
        found = (Transition(*key, *counts) for key, counts in self.outcomes.items())
        return tuple(sorted(found, key=lambda one: (not one.changed, -one.count, one.former, one.verdict)))


def hidden_studies(person: Person | None) -> QuerySet[Study]:
    """Return the studies whose verdicts this person must not see; None is an operator, who is not a tutor."""
    locked = Study.objects.filter(state__in=Study.OFFERING, rehearsal=False)
    return locked if person is None else (locked | concealed_studies(person)).distinct()


def visible_programs(rejudging: Rejudging, person: Person | None) -> QuerySet[RejudgedProgram]:
    """Return the programs whose verdicts this person may see."""
    studies = list(hidden_studies(person))
    if not studies:
        return rejudging.programs.all()
    return rejudging.programs.exclude(_of_studies(studies))


def _of_studies(studies: Iterable[Study]) -> Q:
    """Return the condition that a program belongs to a session or a run of these studies."""
    chosen = list(studies)
    assigned = Assignment.objects.filter(study__in=chosen)
    runs = Run.objects.filter(study_key__in=[one.spending_key for one in chosen])
    return (
        Q(session__in=assigned.filter(session__isnull=False).values("session"))
        | Q(work_item__in=assigned.filter(work_item__isnull=False).values("work_item"))
        | Q(work_item__run__in=runs.values("pk"))
    )


def compare_verdicts(rejudging: Rejudging, person: Person | None) -> RejudgingComparison:
    """Return the former and new verdicts of a rejudging that this person may see."""
    rows = visible_programs(rejudging, person).order_by()
    ended = rows.filter(after__state=Judgement.State.DONE)
    every, runs, sessions = _Tally(), defaultdict[UUID, _Tally](_Tally), defaultdict[UUID, _Tally](_Tally)
    studies: dict[str, _Tally] = defaultdict(_Tally)
    of_session = _study_keys(ended)
    near = Q(before__near_limit=True) | Q(after__near_limit=True)
    columns = ("work_item__run", "work_item__run__study_key", "session", "role")
    for run, key, session, role, former, verdict, count, near_count in ended.values_list(
        *columns, "before__verdict", "after__verdict"
    ).annotate(count=Count("pk"), near=Count("pk", filter=near)):
        numbers = (former, verdict, count, near_count)
        every.add(Role.OUTCOME, *numbers)
        if run is not None:
            runs[run].add(role, *numbers)
        if session is not None:
            sessions[session].add(role, *numbers)
        if study := of_session.get(session, key):
            studies[study].add(role, *numbers)
    return RejudgingComparison(
        programs=rows.count(),
        waiting=rows.exclude(after__state__in=(Judgement.State.DONE, Judgement.State.FAILED)).count(),
        faults=rows.filter(after__state=Judgement.State.FAILED).count(),
        transitions=every.transitions(),
        runs=_runs(runs),
        sessions=_sessions(sessions),
        studies=_studies(studies),
        hidden=tuple(_hidden(rejudging, person)),
    )


def _study_keys(rows: QuerySet[RejudgedProgram]) -> dict[UUID, str]:
    """Return the key of the study of each session of a study."""
    assigned = Assignment.objects.filter(session__in=rows.filter(session__isnull=False).values("session"))
    return {
        row.session_id: row.study.spending_key for row in assigned.select_related("study") if row.session_id
    }


def _runs(tallies: Mapping[UUID, _Tally]) -> tuple[PlaceComparison, ...]:
    found = Run.objects.select_related("dataset", "model").in_bulk(list(tallies))
    named = {
        pk: (
            f"{run.method} with {run.model or run.model_spec} on {run.dataset.name}",
            reverse("run", args=[pk]),
        )
        for pk, run in found.items()
    }
    return _places(named, tallies)


def _sessions(tallies: Mapping[UUID, _Tally]) -> tuple[PlaceComparison, ...]:
    found = Session.objects.select_related("problem__dataset").in_bulk(list(tallies))
    named = {
        pk: (
            f"session on {session.problem}, {session.recorded_at:%Y-%m-%d}",
            reverse("trajectory", args=[pk]),
        )
        for pk, session in found.items()
    }
    return _places(named, tallies)


def _studies(tallies: Mapping[str, _Tally]) -> tuple[PlaceComparison, ...]:
    found = {study.spending_key: study for study in Study.objects.all() if study.spending_key in tallies}
    named = {key: (str(study), reverse("study", args=[study.pk])) for key, study in found.items()}
    return _places(named, tallies)


def _places(named: Mapping[K, tuple[str, str]], tallies: Mapping[K, _Tally]) -> tuple[PlaceComparison, ...]:
    """Return the comparison of each place by its name and address: the places with the most changes come first."""
    places = [
        PlaceComparison(*names, tallies[key].transitions(), tallies[key].others)
        for key, names in named.items()
    ]
    return tuple(sorted(places, key=lambda one: (-one.changed, -one.others, one.name, one.address)))


def _hidden(rejudging: Rejudging, person: Person | None) -> list[HiddenStudy]:
    counted = (
        (study, rejudging.programs.filter(_of_studies([study])).count()) for study in hidden_studies(person)
    )
    return [HiddenStudy(str(study), count) for study, count in counted if count]


def changed_programs(rejudging: Rejudging, person: Person | None) -> QuerySet[RejudgedProgram]:
    """Return the programs with another verdict that this person may see, outcomes first."""
    rows = visible_programs(rejudging, person).filter(after__state=Judgement.State.DONE)
    related = ("before", "after__submission__problem__dataset", "work_item__run__dataset")
    heavy = ("before__result", "after__result", "after__submission__source", "work_item__run__manifest")
    texts = ("statement", "statement_html", "analysis", "analysis_html", "analysis_english", "samples_text")
    problem = "after__submission__problem"
    return (
        rows.exclude(before__verdict=F("after__verdict"))
        .select_related(*related)
        .defer(*heavy, *(f"{problem}__{name}" for name in texts))
        .order_by("role", "after__submission__problem", "pk")
    )
