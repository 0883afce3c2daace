"""The tables of the papers as data: one TOML file each in published/, with its source and its inconsistencies.

A file holds `title`, `source`, `benchmark` (usaco, icpc …), `figure` (the name of the values), `problems` and
`columns`; rows with a `name`, a value for each column, and the `method` and `settings` of a comparable run; `models`,
the model of a column; and marks, each with a `text` on an inconsistency in a `row`, a `column`, both or the whole
table. The name of the file is that of the table.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.models import Run

FOLDER = Path(__file__).parent / "published"


class PublishedTableError(ValueError):
    """An invalid file in published/."""


@dataclass(frozen=True)
class TableRow:
    """A row. `values` are numbers as printed, or texts. `method` is blank if no run is comparable."""

    name: str
    values: tuple[float | str, ...]
    method: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, run: Run) -> bool:
        """Return whether the run has the method and the settings of this row."""
        return self.method == run.method and all(
            str(run.parameters.get(name)) == value for name, value in self.settings.items()
        )


@dataclass(frozen=True)
class TableNote:
    """A note on an inconsistency in the table. A blank row or column means all of them."""

    text: str
    row: str = ""
    column: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """A published table."""

    name: str
    title: str
    source: str
    benchmark: str
    figure: str
    problems: int
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    marks: tuple[TableNote, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)

    def marks_at(self, row: str, column: str) -> list[int]:
        """Return the numbers, from 1, of the marks on this cell without those on the whole table."""
        return [
            number
            for number, mark in enumerate(self.marks, 1)
            if (mark.row or mark.column) and mark.row in ("", row) and mark.column in ("", column)
        ]

    def value(self, row: str, column: str) -> float:
        """Return a number of the table. Raises KeyError for an unknown cell or a text."""
        for one in self.rows:
            if one.name == row:
                value = one.values[self.columns.index(column)]
                if isinstance(value, (int, float)):
                    return value
        raise KeyError(f"{self.name} has no number for {row}, {column}")


@cache
def published_tables() -> Mapping[str, PublishedTable]:
    """Return all tables by name, in the order T1, T2 …, B1 …. Raises PublishedTableError."""
    paths = sorted(FOLDER.glob("*.toml"), key=lambda path: _order(path.stem))
    return {path.stem: _read(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))) for path in paths}


def _order(name: str) -> tuple[bool, str, int]:
    letters, number = re.fullmatch(r"(\D*)(\d*)", name).groups()  # type: ignore[union-attr]
    return letters != "T", letters, int(number or 0)


def _read(name: str, table: dict[str, Any]) -> PublishedTable:
    try:
        rows = tuple(TableRow(**row | {"values": tuple(row["values"])}) for row in table.pop("rows"))
        marks = tuple(TableNote(**mark) for mark in table.pop("marks", ()))
        read = PublishedTable(
            name=name, rows=rows, marks=marks, **table | {"columns": tuple(table.get("columns", ()))}
        )
    except (KeyError, TypeError) as error:
        raise PublishedTableError(f"published/{name}.toml: {error}") from None
    for row in rows:
        if len(row.values) != len(read.columns):
            raise PublishedTableError(
                f"published/{name}.toml: {row.name} has {len(row.values)} values for {len(read.columns)} columns"
            )
    for mark in marks:
        if mark.row not in {"", *(row.name for row in rows)} or mark.column not in {"", *read.columns}:
            raise PublishedTableError(
                f"published/{name}.toml: the row or column of a mark is unknown: {mark.text}"
            )
    return read


@dataclass(frozen=True)
class PublishedRow:
    """A published row that is comparable to a run, with the notes on its inconsistencies."""

    table: str
    title: str
    source: str
    figure: str
    row: str
    values: Mapping[str, float | str]
    marks: tuple[str, ...]

    @property
    def cells(self) -> str:
        """Return the values with the names of their columns; a single value without its name."""
        if len(self.values) == 1:
            return str(next(iter(self.values.values())))
        return ", ".join(f"{column} {value}" for column, value in self.values.items())


def comparable_rows(run: Run) -> Sequence[PublishedRow]:
    """Return the published rows for the benchmark and method of the run, and its settings if a table varies them."""
    return [
        PublishedRow(
            table=table.name,
            title=table.title,
            source=table.source,
            figure=table.figure,
            row=row.name,
            values=dict(zip(table.columns, row.values, strict=True)),
            marks=tuple(dict.fromkeys(mark.text for mark in table.marks if mark.row in ("", row.name))),
        )
        for table in published_tables().values()
        if table.benchmark == run.dataset.format
        for row in table.rows
        if row.is_of(run)
    ]
