"""The tables of the papers as data: one TOML file each in published/, with its source and what is wrong in it.

A file holds `title`, `source`, `benchmark` (usaco, icpc …), `figure` (what the numbers are), `problems` and
`columns`; rows with a `name`, one value a column, and `method` and `settings` where a run of ours would be the same;
`models`, the model of a column; and marks, each with a `text` on what does not fit, on a `row`, a `column`, both or
the whole table. The file's name is the table's.
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
    """A file in published/ does not hold what a table needs; the message says which and what."""


@dataclass(frozen=True)
class Row:
    """`values` are numbers as printed, or texts. `method` is blank where no run of ours is the same."""

    name: str
    values: tuple[float | str, ...]
    method: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, run: Run) -> bool:
        """Whether the run is of this row's method, with its settings."""
        return self.method == run.method and all(
            str(run.parameters.get(name)) == value for name, value in self.settings.items()
        )


@dataclass(frozen=True)
class Mark:
    """Something in the table that does not fit; a blank row or column stands for all."""

    text: str
    row: str = ""
    column: str = ""


@dataclass(frozen=True)
class PublishedTable:
    name: str
    title: str
    source: str
    benchmark: str
    figure: str
    problems: int
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    marks: tuple[Mark, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)

    def marks_at(self, row: str, column: str) -> list[int]:
        """The numbers, from 1, of the marks on this cell; those on the whole table are on none."""
        return [
            number
            for number, mark in enumerate(self.marks, 1)
            if (mark.row or mark.column) and mark.row in ("", row) and mark.column in ("", column)
        ]

    def value(self, row: str, column: str) -> float:
        """A number of the table. Raises KeyError where there is none."""
        for one in self.rows:
            if one.name == row:
                value = one.values[self.columns.index(column)]
                if isinstance(value, (int, float)):
                    return value
        raise KeyError(f"{self.name} has no number for {row}, {column}")


@cache
def published_tables() -> Mapping[str, PublishedTable]:
    """All tables by name, in the order T1, T2 …, B1 …. Raises PublishedTableError."""
    paths = sorted(FOLDER.glob("*.toml"), key=lambda path: _order(path.stem))
    return {path.stem: _read(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))) for path in paths}


def _order(name: str) -> tuple[bool, str, int]:
    letters, number = re.fullmatch(r"(\D*)(\d*)", name).groups()  # type: ignore[union-attr]
    return letters != "T", letters, int(number or 0)


def _read(name: str, table: dict[str, Any]) -> PublishedTable:
    try:
        rows = tuple(Row(**row | {"values": tuple(row["values"])}) for row in table.pop("rows"))
        marks = tuple(Mark(**mark) for mark in table.pop("marks", ()))
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
            raise PublishedTableError(f"published/{name}.toml: a mark is on no row or column: {mark.text}")
    return read


@dataclass(frozen=True)
class Beside:
    """A published row that stands beside a run, with what does not fit about it."""

    table: str
    title: str
    source: str
    figure: str
    row: str
    values: Mapping[str, float | str]
    marks: tuple[str, ...]

    @property
    def cells(self) -> str:
        """The values with their columns; a single column needs no name."""
        if len(self.values) == 1:
            return str(next(iter(self.values.values())))
        return ", ".join(f"{column} {value}" for column, value in self.values.items())


def beside(run: Run) -> Sequence[Beside]:
    """The published rows for the run's benchmark and method (and settings, where a table varies them)."""
    return [
        Beside(
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
