"""The papers' tables, with what does not fit in them, and what of them comes out again here."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.reports.published_tables import PublishedTable, published_tables
from benchmark.reproduction import REPRODUCTIONS
from benchmark.views.access import for_researchers


@dataclass(frozen=True)
class Cell:
    value: float | str
    marks: list[int]


@require_safe
@for_researchers
def published(request: HttpRequest) -> HttpResponse:
    """All tables on one page, each with its source."""
    return render(
        request,
        "benchmark/runs/published.html",
        {
            "tables": [(table, _rows(table)) for table in published_tables().values()],
            "reproductions": sorted(REPRODUCTIONS.values(), key=lambda one: int(one.name.partition("-")[2])),
        },
    )


def _rows(table: PublishedTable) -> list[tuple[str, list[Cell]]]:
    return [
        (
            row.name,
            [
                Cell("" if value != value else value, table.marks_at(row.name, column))
                for column, value in zip(table.columns, row.values, strict=True)
            ],
        )
        for row in table.rows
    ]
