"""The published tables with notes on their inconsistencies, and the figures that Hintbench reproduces."""

from dataclasses import dataclass
from math import isnan

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.reports.published_tables import PublishedTable, published_tables
from benchmark.reproduction import REPRODUCTIONS


@dataclass(frozen=True)
class PublishedCell:
    """A value as printed, with grouped digits if it is a whole number, and the numbers of the notes on it."""

    column: str
    value: float | str
    marks: list[int]


@require_safe
@requires_role(Role.RESEARCHER)
def published(request: HttpRequest) -> HttpResponse:
    """Show all tables with their sources."""
    return render(
        request,
        "benchmark/runs/published.html",
        {
            "tables": [(table, _rows(table)) for table in published_tables().values()],
            "reproductions": sorted(REPRODUCTIONS.values(), key=lambda one: int(one.name.partition("-")[2])),
        },
    )


def _rows(table: PublishedTable) -> list[tuple[str, list[PublishedCell]]]:
    return [
        (
            row.name,
            [
                PublishedCell(column, _printed(value), table.marks_at(row.name, column))
                for column, value in zip(table.columns, row.values, strict=True)
            ],
        )
        for row in table.rows
    ]


def _printed(value: float | str) -> float | str:
    if isinstance(value, int):
        return f"{value:,}"
    return "" if isinstance(value, float) and isnan(value) else value
