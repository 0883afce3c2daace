"""The programs that a rejudging takes: those of ended runs and closed sessions, by problem, run, study or session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from benchmark.judging import ProgramPlace, RejudgingError
from benchmark.models import Dataset, Generation, Judgement, Problem, RejudgedProgram, Run, TestCase, WorkItem
from benchmark.models.parts import parts
from tutoring.models import Assignment, ProgramScore, Session, Study

_AT_ONCE = 500
"""Keys that one statement reads."""

_ENDED = (Judgement.State.DONE, Judgement.State.FAILED)

Role = RejudgedProgram.Role


@dataclass(frozen=True)
class Selection:
    """The restrictions of a rejudging. Problems and datasets restrict runs, studies and sessions; empty: all."""

    problems: Sequence[Problem] = ()
    datasets: Sequence[Dataset] = ()
    runs: Sequence[Run] = ()
    studies: Sequence[Study] = ()
    sessions: Sequence[Session] = ()

    def to_json(self) -> dict[str, list[str]]:
        """Return the names of the selected rows, as a rejudging stores them."""
        return {
            "problems": [str(one) for one in self.problems],
            "datasets": [one.name for one in self.datasets],
            "runs": [str(one.pk) for one in self.runs],
            "studies": [f"{one.name}@{one.version}" for one in self.studies],
            "sessions": [str(one.pk) for one in self.sessions],
        }

    def of_problem(self) -> Q:
        """Return the condition that the problem of a row is selected."""
        if not self.problems and not self.datasets:
            return Q()
        problems = Q(problem__in=[one.pk for one in self.problems])
        return problems | Q(problem__dataset__in=[one.pk for one in self.datasets])

    @property
    def has_places(self) -> bool:
        """Whether runs, studies or sessions are named."""
        return bool(self.runs or self.studies or self.sessions)


@dataclass
class SelectedPrograms:
    """The judgements to make again with their places, how many rows contain them, and what is left out and why."""

    places: dict[int, ProgramPlace] = field(default_factory=dict)
    runs: int = 0
    sessions: int = 0
    studies: int = 0
    left_out: list[tuple[str, int]] = field(default_factory=list)


def select_programs(selection: Selection) -> SelectedPrograms:
    """Return the programs of a selection. Raises RejudgingError for an empty selection."""
    if not (selection.problems or selection.datasets or selection.has_places):
        raise RejudgingError("Select problems, a dataset, runs, studies or sessions.")
    found = SelectedPrograms()
    items = _items(selection, found)
    for pk, place in _of_chains(items):
        # The judgement of an attempt is also that of a reply.
        if pk not in found.places or place.role == Role.OUTCOME:
            found.places[pk] = place
    sessions = _sessions(selection, found)
    found.places |= dict(_of_sessions(sessions))
    _count(found)
    return found


def _items(selection: Selection, found: SelectedPrograms) -> QuerySet[WorkItem]:
    items = WorkItem.objects.filter(selection.of_problem(), state=WorkItem.State.DONE)
    if selection.has_places:
        keys = [study.spending_key for study in selection.studies]
        items = items.filter(
            Q(run__in=[run.pk for run in selection.runs])
            | Q(run__study_key__in=keys)
            | Q(session__in=[session.pk for session in selection.sessions])
        )
    left_out = {
        "runs of other sites, which keep their verdicts": items.filter(run__source__isnull=False),
        "runs in progress": items.filter(run__source__isnull=True, run__state=Run.State.OPEN),
    }
    for reason, rows in left_out.items():
        if count := rows.order_by().values("run").distinct().count():
            found.left_out.append((reason, count))
    return items.filter(run__source__isnull=True).exclude(run__state=Run.State.OPEN)


def _sessions(selection: Selection, found: SelectedPrograms) -> QuerySet[Session]:
    sessions = Session.objects.filter(
        selection.of_problem(), origin=Session.Origin.TUTORED, state=Session.State.CLOSED
    )
    if selection.has_places:
        sessions = sessions.filter(
            Q(pk__in=[session.pk for session in selection.sessions])
            | Q(assignment__study__in=[study.pk for study in selection.studies])
        )
        if not (selection.sessions or selection.studies):
            return sessions.none()
    withdrawn = Assignment.objects.filter(session__isnull=False).exclude(outcomes={}).values("session")
    if count := sessions.filter(pk__in=withdrawn).count():
        found.left_out.append(("sessions of persons who have withdrawn", count))
    return sessions.exclude(pk__in=withdrawn)


def _judgeable(prefix: str) -> dict[str, Any]:
    """Return the conditions that the judgement in this column has ended and counts."""
    return {f"{prefix}__state__in": _ENDED, f"{prefix}__counts": True}


def _of_chains(items: QuerySet[WorkItem]) -> Iterator[tuple[int, ProgramPlace]]:
    answers = Generation.objects.filter(work_item__in=items.order_by().values("pk"))
    for column, role in (("sample_judgement", Role.SAMPLES), ("hidden_judgement", Role.PROGRAM)):
        rows = answers.filter(**_judgeable(column)).order_by()
        for pk, item, step in rows.values_list(column, "work_item", "step"):
            yield pk, ProgramPlace(role, step + 1, work_item=item)
    rows_of_items = items.filter(**_judgeable("judgement")).order_by()
    for pk, item, step in rows_of_items.values_list("judgement", "pk", "selected__step"):
        yield pk, ProgramPlace(Role.OUTCOME, (step or 0) + 1, work_item=item)


def _of_sessions(sessions: QuerySet[Session]) -> Iterator[tuple[int, ProgramPlace]]:
    executed = sessions.filter(**_judgeable("judgement")).order_by()
    for pk, session, number in executed.values_list("judgement", "pk", "code_generations"):
        yield pk, ProgramPlace(Role.OUTCOME, number, session=session)
    scores = ProgramScore.objects.filter(
        session__in=sessions.order_by().values("pk"), **_judgeable("judgement")
    )
    for pk, session, number in scores.order_by().values_list("judgement", "session", "generation"):
        yield pk, ProgramPlace(Role.PROGRAM, number, session=session)


def _count(found: SelectedPrograms) -> None:
    """Leave out programs of problems without tests, and count the rows that contain the others."""
    tests = TestCase.objects.filter(problem=OuterRef("submission__problem"))
    untested: set[int] = set()
    items: set[int] = set()
    sessions: set[UUID] = set()
    for part in parts(sorted(found.places), _AT_ONCE):
        rows = Judgement.objects.filter(
            ~Exists(tests), pk__in=part, suite=Judgement.TestScope.ALL, test_suite=None
        )
        untested.update(rows.values_list("pk", flat=True))
    if untested:
        found.left_out.append(("programs for problems without tests", len(untested)))
        found.places = {pk: place for pk, place in found.places.items() if pk not in untested}
    for place in found.places.values():
        if place.work_item is not None:
            items.add(place.work_item)
        if place.session is not None:
            sessions.add(place.session)
    runs: set[UUID] = set()
    studies: set[str] = set()
    for part in parts(sorted(items), _AT_ONCE):
        chains = WorkItem.objects.filter(pk__in=part).order_by()
        for run, key in chains.values_list("run", "run__study_key").distinct():
            runs.add(run)
            studies.update([key] if key else [])
    for keys in parts(sorted(sessions), _AT_ONCE):
        of_studies = Study.objects.filter(assignments__session__in=keys).distinct()
        studies.update(study.spending_key for study in of_studies)
    found.runs, found.sessions, found.studies = len(runs), len(sessions), len(studies)
