"""The problems of ICPC-Eval: the published Parquet files, or the same rows as JSON (docs/spec.md 10.4).

The import runs no program. `manage.py suite_quality --imported` tests the special judges.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    SkippedEntry,
    Source,
    TestRecord,
    UnusableProblemError,
)
from benchmark.datasets.rows import Row, read_rows
from judge import Checker, Limits, OutputValidator

_REQUIRED = ("id", "title", "description", "time_limit_ms", "memory_limit_mb", "examples", "test_cases")
_SPECIAL_JUDGE_LIMITS = Limits(time=10.0, memory=2**30)
"""The published judge also stops special judges after ten seconds."""


@contextmanager
def open_icpc_eval(path: Path) -> Iterator[Source]:
    """Open the problems of a file or of a folder of files. Raises SourceError."""
    total, rows = read_rows(path)
    yield Source(total, (_entry(row) for row in rows))


IMPORTER = Importer("icpc-eval", "a file or a folder of files: Parquet or JSON lines", open_icpc_eval)


def _entry(row: Row) -> ImportedProblem | SkippedEntry:
    identifier = str(row.get("id", "")) or "a row without id"
    try:
        return _problem(identifier, row)
    except UnusableProblemError as reason:
        return SkippedEntry(identifier, str(reason))


def _problem(identifier: str, row: Row) -> ImportedProblem:
    if missing := [name for name in _REQUIRED if row.get(name) is None]:
        raise UnusableProblemError(f"it has no {', '.join(missing)}")
    if row.get("interaction"):
        raise UnusableProblemError("it is interactive, and its interactor is missing")
    samples = _pairs(row, "examples")
    hidden = _pairs(row, "test_cases")
    if not hidden:
        raise UnusableProblemError("it has no test cases")
    year = row.get("year")
    source = str(row.get("source") or "")
    url = str(row.get("qoj_url") or "")
    return ImportedProblem(
        external_id=identifier,
        title=str(row["title"]),
        statement=_statement(row, samples),
        statement_format="markdown",
        time_limit=_positive(row, "time_limit_ms") / 1000,
        memory_limit=round(_positive(row, "memory_limit_mb") * 2**20),
        checker=_checker(row).to_json(),
        tests=tuple(_tests(samples, hidden)),
        tags=tuple(str(tag) for tag in row.get("tags") or ()),
        contest=source if not year or str(year) in source else f"{source} {year}".strip(),
        source_url=url if url.startswith(("http://", "https://")) else "",
    )


def _pairs(row: Row, name: str) -> list[tuple[str, str]]:
    """Return input and output of each test; a pair is a list of two strings, or an object with both."""
    pairs = []
    for entry in row[name]:
        given = [entry.get("input"), entry.get("output")] if isinstance(entry, Mapping) else entry
        if (
            not isinstance(given, list | tuple)
            or len(given) != 2
            or not all(isinstance(t, str) for t in given)
        ):
            raise UnusableProblemError(f"its {name} are not pairs of an input and an output")
        pairs.append((given[0], given[1]))
    return pairs


def _tests(samples: list[tuple[str, str]], hidden: list[tuple[str, str]]) -> Iterator[TestRecord]:
    """Yield the samples, then the hidden tests that differ from them."""
    for number, (given, answer) in enumerate(samples, 1):
        yield TestRecord(f"sample-{number}", True, _bytes(given), _bytes(answer))
    known = {tuple(given.split()) for given, _ in samples}
    for number, (given, answer) in enumerate(hidden, 1):
        if tuple(given.split()) not in known:
            yield TestRecord(str(number), False, _bytes(given), _bytes(answer))


def _bytes(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode("utf-8", "replace")


def _statement(row: Row, samples: list[tuple[str, str]]) -> str:
    """Return the parts of the statement in the order of the published prompts, with unchanged samples."""
    parts = [str(row["description"]).strip()]
    for name in ("input", "output"):
        if text := str(row.get(name) or "").strip():
            parts.append(f"## {name.title()}\n\n{text}")
    for number, (given, answer) in enumerate(samples, 1):
        parts.append(f"## Sample input {number}\n\n{_block(given)}")
        parts.append(f"## Sample output {number}\n\n{_block(answer)}")
    if note := str(row.get("note") or "").strip():
        parts.append(f"## Note\n\n{note}")
    return "\n\n".join(parts) + "\n"


def _block(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.replace("\r\n", "\n").strip("\n").split("\n"))


def _checker(row: Row) -> Checker:
    kind = row.get("type") or "traditional"
    if kind == "traditional":
        return Checker()
    if kind != "spj":
        raise UnusableProblemError(f"its type is {kind!r}, neither traditional nor spj")
    code = row.get("spj_code")
    if not isinstance(code, str) or not code.strip():
        raise UnusableProblemError("its special judge (spj_code) is missing")
    return Checker(
        "special", program=OutputValidator("cpp23", {"spj.cpp": code}, limits=_SPECIAL_JUDGE_LIMITS)
    )


def _positive(row: Row, name: str) -> float:
    value: Any = row[name]
    if not isinstance(value, int | float) or not 0 < value < 1e7:
        raise UnusableProblemError(f"its {name} is {value!r}, not a positive number")
    return float(value)
