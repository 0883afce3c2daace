"""Filters and order of the list of runs, as in its address."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import NamedTuple, Self

from django.core.exceptions import BadRequest
from django.db.models import Count, F, QuerySet
from django.db.models.expressions import OrderBy
from django.db.models.fields.json import KT
from django.http import HttpRequest
from django.utils.http import urlencode

from benchmark.models import Run

WITHOUT_PROFILE = "none"
"""The value of the filter by profile for runs without one."""

_PROFILE = "manifest__profile__name"

_ORDERS: dict[str, tuple[str, ...]] = {
    "run": ("method", "model_spec"),
    "dataset": ("dataset__name",),
    "score": ("cached_report__score",),
    "started": ("started_at",),
}
"""The columns by which the list can be sorted."""

_BEST_FIRST = ("score", "started")
"""The columns whose first order is the descending one."""


@dataclass(frozen=True)
class RunChoice:
    """A value of a filter with its number of runs under the other filters."""

    value: str
    label: str
    count: int


class RunFilter(NamedTuple):
    """A filter with its values, for the form."""

    name: str
    label: str
    value: str
    choices: list[RunChoice]


class RunHeading(NamedTuple):
    """The heading of a column: the query of its order, and `ascending` or `descending` if the list has it."""

    query: str
    direction: str
    number: bool
    """Whether the column holds numbers."""


@dataclass(frozen=True)
class RunFilters:
    """The filters of the list and its order; blank: none. An unknown value matches no run.

    `since` and `until` are the first and the last day on which a run started, in ISO form.
    """

    dataset: str = ""
    method: str = ""
    model: str = ""
    profile: str = ""
    since: str = ""
    until: str = ""
    sort: str = ""
    """The name of a column, with - for the descending order. Blank: by dataset, the best first."""

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        """Return the filters of the request. An unknown order is ignored; raises BadRequest for an invalid day."""
        given = {one.name: request.GET.get(one.name, "").strip()[:200] for one in fields(cls)}
        if given["sort"].removeprefix("-") not in _ORDERS:
            given["sort"] = ""
        for name in ("since", "until"):
            try:
                date.fromisoformat(given[name] or "2000-01-01")
            except ValueError:
                raise BadRequest(f"The parameter {name} must be a day, YYYY-MM-DD.") from None
        return cls(**given)

    def apply(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """Return the runs that match, in no particular order."""
        runs = self._in_time(runs)
        wanted = {"dataset__name": self.dataset, "method": self.method, "model_spec": self.model}
        runs = runs.filter(**{column: value for column, value in wanted.items() if value})
        if self.profile == WITHOUT_PROFILE:
            return runs.filter(**{f"{_PROFILE}__isnull": True})
        return runs.filter(**{_PROFILE: self.profile}) if self.profile else runs

    def _in_time(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        if self.since:
            runs = runs.filter(started_at__date__gte=self.since)
        return runs.filter(started_at__date__lte=self.until) if self.until else runs

    def order(self) -> list[OrderBy]:
        """Return the order of the list; unknown scores are last, and equal runs begin with the latest."""
        name = self.sort.removeprefix("-")
        if not name:
            first: list[OrderBy] = [F("dataset__name").asc(), F("cached_report__score").desc(nulls_last=True)]
        elif self.sort.startswith("-"):
            first = [F(column).desc(nulls_last=True) for column in _ORDERS[name]]
        else:
            first = [F(column).asc(nulls_last=True) for column in _ORDERS[name]]
        return [*first, F("started_at").desc()]

    def headings(self) -> dict[str, RunHeading]:
        """Return the headings of the columns that can be sorted, by name."""
        return {name: self._heading(name) for name in _ORDERS}

    def _heading(self, name: str) -> RunHeading:
        direction = {name: "ascending", f"-{name}": "descending"}.get(self.sort, "")
        descending = name in _BEST_FIRST if not direction else direction == "ascending"
        query = replace(self, sort=f"-{name}" if descending else name).query
        return RunHeading(query, direction, name == "score")

    def form(self, runs: QuerySet[Run]) -> list[RunFilter]:
        """Return the filters with their values. Runs one query over all `runs`."""
        kinds = list(_kinds(self._in_time(runs)))
        labels = {"dataset": "Dataset", "method": "Method", "model": "Model", "profile": "Profile"}
        chosen = {name: getattr(self, name) for name in labels}
        return [
            RunFilter(name, label, chosen[name], _choices(kinds, name, chosen))
            for name, label in labels.items()
        ]

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return replace(self, sort="") != type(self)()

    @property
    def query(self) -> str:
        """Filters and order as a query string without the page numbers."""
        return urlencode({name: value for name, value in vars(self).items() if value})


@dataclass(frozen=True)
class _Kind:
    """A number of runs with these values of the filters."""

    dataset: str
    method: str
    model: str
    profile: str
    count: int


def _kinds(runs: QuerySet[Run]) -> Iterator[_Kind]:
    rows = runs.order_by().annotate(profile=KT(_PROFILE))
    grouped = rows.values_list("dataset__name", "method", "model_spec", "profile").annotate(Count("pk"))
    for dataset, method, model, profile, count in grouped:
        yield _Kind(dataset, method, model, profile or WITHOUT_PROFILE, count)


def _choices(kinds: Sequence[_Kind], name: str, chosen: dict[str, str]) -> list[RunChoice]:
    """Return the values of a filter, those without runs included; each counts the runs that match the other filters."""
    others = {other: value for other, value in chosen.items() if value and other != name}
    counts: Counter[str] = Counter({getattr(kind, name): 0 for kind in kinds})
    for kind in kinds:
        if all(getattr(kind, other) == value for other, value in others.items()):
            counts[getattr(kind, name)] += kind.count
    label = {WITHOUT_PROFILE: "no profile"} if name == "profile" else {}
    return [RunChoice(value, label.get(value, value), count) for value, count in sorted(counts.items())]
