"""Records of the labelled corpus of drafts. `drafts/README.md` describes the files and the labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "drafts"


class Split(StrEnum):
    """A part of the corpus: detectors may be developed on the first; the second only measures them."""

    DEVELOPMENT = "development"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True)
class StudentProgram:
    """A wrong, unfinished or slow program of a student; `problem` is a practice folder or a USACO id."""

    key: str
    problem: str
    language: str
    code: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A tutor's message that answers a program, with the clauses F1 to F5 it breaks (none: allowed).

    `before` holds the student's last words where the label depends on them.
    """

    id: str
    problem: str
    program: StudentProgram
    language: str
    kind: str
    labels: frozenset[str]
    text: str
    before: str = ""


def programs() -> dict[str, StudentProgram]:
    """Return the students' programs by key."""
    return {row["key"]: StudentProgram(**row) for row in _rows("programs")}


def drafts(split: Split) -> list[Draft]:
    """Return the drafts of a split in the order of its file."""
    by_key = programs()
    return [
        Draft(**row | {"program": by_key[row["program"]], "labels": frozenset(row["labels"])})
        for row in _rows(split)
    ]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
