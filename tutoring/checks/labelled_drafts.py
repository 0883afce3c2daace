"""Labelled drafts: messages of tutors with the program that each answers and the clauses that it breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CorpusError(ValueError):
    """A file of labelled drafts cannot be read. The message names the file and the line."""


@dataclass(frozen=True, slots=True)
class StudentProgram:
    """A wrong, unfinished or slow program of a student. `problem` is the identifier of the problem in its source."""

    key: str
    problem: str
    language: str
    code: str


@dataclass(frozen=True, slots=True)
class LabelledDraft:
    """A tutor's message that answers a program, with the forbidden clauses that it breaks (none: allowed).

    `before` holds the student's last words if the label depends on them.
    """

    id: str
    problem: str
    program: StudentProgram
    language: str
    kind: str
    labels: frozenset[str]
    text: str
    before: str = ""


def read_programs(file: Path) -> dict[str, StudentProgram]:
    """Return the programs of a JSON Lines file by key. Raise CorpusError."""
    programs = {}
    for number, row in _rows(file):
        try:
            program = StudentProgram(**row)
        except TypeError:
            raise CorpusError(
                f"{file}:{number} must have the keys key, problem, language and code."
            ) from None
        programs[program.key] = program
    return programs


def read_drafts(file: Path) -> list[LabelledDraft]:
    """Return the drafts of a JSON Lines file. Their programs are in `programs.jsonl` beside it. Raise CorpusError."""
    programs = read_programs(file.with_name("programs.jsonl"))
    drafts = []
    for number, row in _rows(file):
        try:
            program, labels = programs[row["program"]], frozenset(row["labels"])
            drafts.append(LabelledDraft(**{**row, "program": program, "labels": labels}))
        except (KeyError, TypeError) as error:
            raise CorpusError(f"{file}:{number} is not a labelled draft: {error}.") from None
    return drafts


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file} cannot be read: {error}.") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{file}:{number} is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise CorpusError(f"{file}:{number} is not a JSON object.")
        yield number, row
