"""The problems of the bank as rows of a list, with the status that each has for a tutor. One query reads all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db.models import CharField, Count, Value
from django.urls import reverse

from benchmark.models import Problem, TestCase
from benchmark.models.problems import Tier
from tutoring.sessions.assignments import problems_closed_by_studies
from tutoring.sessions.visible_outcomes import ProblemStatus, problem_status


class ProblemRow(NamedTuple):
    """One problem of a list, without the texts of the problem."""

    pk: int
    dataset: str
    external_id: str
    title: str
    tier: str
    time_limit: float
    memory_limit: int
    samples_only: bool
    contest: str
    contest_date: date | None
    status: str
    """A value of ProblemStatus; blank for people who are not tutors."""

    def __str__(self) -> str:
        return f"{self.dataset}/{self.external_id}"

    def get_absolute_url(self) -> str:
        return reverse("problem", args=[self.dataset, self.external_id])

    def get_tier_display(self) -> str:
        return str(Tier(self.tier).label)

    def get_status_display(self) -> str:
        return str(ProblemStatus(self.status).label)


def problem_rows(tutor: User | None) -> list[ProblemRow]:
    """Return the problems with statements, in the order of dataset and id. Imported runs alone have no statements."""
    problems = Problem.objects.filter(dataset__known_as="").order_by()
    status = Value("", CharField()) if tutor is None else problem_status(tutor)
    rows = problems.annotate(status=status).values_list("pk", "dataset__name", *ProblemRow._fields[2:])
    return sorted((ProblemRow(*row) for row in rows), key=by_id)


def by_id(row: ProblemRow) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the key of the order by dataset and id."""
    return row.dataset, natural(row.external_id)


_DIGITS = re.compile(r"([0-9]+)")


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key of texts that compares the numbers in them as numbers: "9_a" precedes "10_a"."""
    parts = filter(None, _DIGITS.split(name.casefold()))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def hidden_tests(rows: Iterable[ProblemRow]) -> dict[int, int]:
    """Return the numbers of hidden tests by primary key, for those of the problems that have some. One query."""
    hidden = TestCase.objects.filter(origin=TestCase.Origin.HIDDEN, problem__in=[row.pk for row in rows])
    return dict(hidden.order_by().values_list("problem").annotate(Count("pk")))


def first_unsolved(rows: Iterable[ProblemRow], tutor: User) -> ProblemRow | None:
    """Return the first of the rows that the tutor has not solved and that no study closes to the tutor. One query."""
    closed = set(problems_closed_by_studies(tutor).values_list("problem", flat=True))
    unsolved = (row for row in rows if row.status != ProblemStatus.SOLVED and row.pk not in closed)
    return next(unsolved, None)


def unsolved_after(problem: Problem, tutor: User) -> ProblemRow | None:
    """Return the tutor's next unsolved problem of the same dataset, by id; the first ones follow the last ones."""
    rows = [row for row in problem_rows(tutor) if row.dataset == problem.dataset.name]
    here = next((index for index, row in enumerate(rows) if row.pk == problem.pk), 0)
    return first_unsolved(rows[here + 1 :] + rows[:here], tutor)
