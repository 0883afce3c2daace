"""The list of problems: filters, order, and for tutors their own status and the next unsolved problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q, TextChoices
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.roles import Role, has_role, requires_role
from benchmark.models import Problem
from benchmark.models.problems import Tier
from tutoring.sessions.problem_rows import (
    ProblemRow,
    by_id,
    first_unsolved,
    hidden_tests,
    natural,
    problem_rows,
)
from tutoring.sessions.visible_outcomes import ProblemStatus
from tutoring.views.requests import PAGE_SIZE, Choice, person_of

Key = Callable[[ProblemRow, dict[int, int]], Any]
"""A function of a row and the numbers of hidden tests. None means unknown, which is last in both directions."""


class Column(NamedTuple):
    """A column by which the list can be sorted."""

    name: str
    label: str
    key: Key
    number: bool = False


_STATUSES = {status.value: rank for rank, status in enumerate(ProblemStatus)}
_TIERS = {tier.value: rank for rank, tier in enumerate(Tier)}

COLUMNS = (
    Column("status", "Status", lambda row, _: _STATUSES[row.status]),
    Column("title", "Problem", lambda row, _: natural(row.title)),
    Column("id", "Id", lambda row, _: by_id(row)),
    Column("tier", "Tier", lambda row, _: _TIERS.get(row.tier)),
    Column("date", "Contest", lambda row, _: row.contest_date),
    Column("tests", "Tests", lambda row, tests: tests.get(row.pk, 0), number=True),
    Column("time", "Time", lambda row, _: row.time_limit, number=True),
    Column("memory", "Memory", lambda row, _: row.memory_limit, number=True),
)


CHOICES = ("tier", "dataset", "status")
"""The filters that choose one of several values."""


def _columns(tutor: User | None) -> dict[str, Column]:
    """Return the columns by name. Only tutors have statuses."""
    return {column.name: column for column in COLUMNS if tutor is not None or column.name != "status"}


@dataclass(frozen=True)
class Filters:
    """Filters and order in the address. An unknown tier, dataset or status matches no problem."""

    text: str
    tier: str
    dataset: str
    status: str
    sort: str
    """The name of a column, with - for the descending order. Blank: in the order of the ids."""

    @classmethod
    def of(cls, request: HttpRequest, tutor: User | None) -> Filters:
        """Return the filters of the request. An unknown column is ignored."""
        given = {name: request.GET.get(name, "").strip()[:200] for name in cls.__dataclass_fields__}
        if given["sort"].removeprefix("-") not in _columns(tutor):
            given["sort"] = ""
        if tutor is None:
            given["status"] = ""
        return cls(**given)

    def searched(self, rows: list[ProblemRow]) -> list[ProblemRow]:
        """Return the rows with all words of the text. A search takes one query."""
        if not self.text:
            return rows
        problems = Problem.objects.all()
        for word in self.text.split():
            problems = problems.filter(
                Q(title__icontains=word) | Q(external_id__icontains=word) | Q(statement__icontains=word)
            )
        matching = set(problems.values_list("pk", flat=True))
        return [row for row in rows if row.pk in matching]

    def chosen(self, rows: Iterable[ProblemRow], without: str = "") -> list[ProblemRow]:
        """Return the rows of the chosen tier, dataset and status; `without` names one of these that is ignored."""
        wanted = {name: getattr(self, name) for name in CHOICES if name != without and getattr(self, name)}
        return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return any((self.text, self.tier, self.dataset, self.status))

    @property
    def query(self) -> str:
        """Filters and order as a query string without the page number."""
        return urlencode({name: value for name, value in vars(self).items() if value})


class Heading(NamedTuple):
    """The heading of a column: a link to the list in its order, or in the reverse order if it has that order now."""

    column: Column
    query: str
    direction: str
    """`ascending` or `descending` if the list is sorted by the column; blank otherwise."""


@require_safe
@requires_role(*Role)
def problem_list(request: HttpRequest) -> HttpResponse:
    """Show the problems. Query: text, tier, dataset, status, sort, page."""
    tutor = person_of(request) if has_role(request.user, Role.TUTOR) else None
    filters = Filters.of(request, tutor)
    bank = problem_rows(tutor)
    searched = filters.searched(bank)
    found = filters.chosen(searched)
    # The number beside a choice is how many problems the list would show with that choice.
    counts = {name: Counter(getattr(row, name) for row in filters.chosen(searched, name)) for name in CHOICES}
    tests = hidden_tests(found) if filters.sort.endswith("tests") else None
    listed = _sorted(found, filters.sort, tests or {})
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    if tests is None:
        tests = hidden_tests(page.object_list)
    context = {
        "filters": filters,
        "page": page,
        "rows": [(row, tests.get(row.pk, 0)) for row in page.object_list],
        "headings": _headings(filters, tutor),
        "tiers": _choices(Tier, {row.tier for row in bank}, counts["tier"]),
        "datasets": [
            Choice(name, name, counts["dataset"][name]) for name in sorted({row.dataset for row in bank})
        ],
        "statuses": _choices(ProblemStatus, {row.status for row in bank}, counts["status"]),
        "next_unsolved": first_unsolved(listed, tutor) if tutor is not None else None,
        "total": len(bank),
        "with_hidden_tests": sum(not row.samples_only for row in found),
    }
    return render(request, "tutoring/problem_list.html", context)


def _sorted(rows: list[ProblemRow], sort: str, tests: dict[int, int]) -> list[ProblemRow]:
    """Return the rows in the order of a column; equal ones stay in the order of the ids, and unknown ones are last."""
    column = next((column for column in COLUMNS if column.name == sort.removeprefix("-")), None)
    if column is None:
        return rows
    keys = {row.pk: column.key(row, tests) for row in rows}
    known = [row for row in rows if keys[row.pk] is not None]
    known.sort(key=lambda row: keys[row.pk], reverse=sort.startswith("-"))
    return known + [row for row in rows if keys[row.pk] is None]


def _headings(filters: Filters, tutor: User | None) -> list[Heading]:
    headings = []
    for name, column in _columns(tutor).items():
        direction = {name: "ascending", f"-{name}": "descending"}.get(filters.sort, "")
        following = f"-{name}" if direction == "ascending" else name
        headings.append(Heading(column, replace(filters, sort=following).query, direction))
    return headings


def _choices(values: type[TextChoices], present: Set[str], counts: Counter[str]) -> list[Choice]:
    """Return the values that are present, in their own order, with their counts."""
    return [Choice(one.value, str(one.label), counts[one.value]) for one in values if one.value in present]
