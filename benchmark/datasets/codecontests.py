"""CodeContests (AlphaCode's collection) as Parquet or JSON rows (docs/spec.md 10.7).

The Parquet files are those of `deepmind/code_contests`. The JSON is the output of the collection's converter for its
original Riegeli files. Solutions become reference solutions; incorrect solutions become known wrong programs that
measure suites.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    ProgramRecord,
    ReferenceRecord,
    SkippedEntry,
    Source,
    SourceError,
    TestRecord,
    UnusableProblemError,
)
from benchmark.datasets.rows import Row, read_rows
from judge import Checker

RIGHT_KEPT, WRONG_KEPT = 10, 50
"""Maximum numbers of stored programs per problem; some problems have more than a thousand."""

_LANGUAGES = {2: "cpp", 3: "python", 4: "java"}
"""The supported languages; 1 is Python 2, which is not judged."""

_LONGEST_PROGRAM = 2**16
_SOURCES = {1: "CodeChef", 2: "Codeforces", 3: "HackerEarth", 4: "CodeJam", 6: "AtCoder", 7: "Aizu"}
_TIME_LIMIT, _MEMORY_LIMIT = 2.0, 256 * 2**20
_TOLERANCE = 1e-5
"""The published comparison ignores case and compares numbers by absolute difference (this size is an assumption)."""


@contextmanager
def open_codecontests(path: Path) -> Iterator[Source]:
    """Open the problems of a file or of a folder of files. Raises SourceError."""
    _refuse_riegeli(path)
    total, rows = read_rows(path)
    yield Source(total, (_entry(row) for row in rows))


IMPORTER = Importer("codecontests", "a file or a folder of files: Parquet or JSON lines", open_codecontests)


def _refuse_riegeli(path: Path) -> None:
    """Raise SourceError for files in the collection's original format."""
    files = [path] if path.is_file() else path.glob("*")
    if found := next((file for file in files if ".riegeli" in file.name), None):
        raise SourceError(
            f"{found} is a Riegeli file, which is not supported. Use the Parquet files of "
            "deepmind/code_contests on Hugging Face (data/test-*, data/valid-*, data/train-*), which contain the same "
            "problems, or convert it with convert_riegeli_to_json.py of google-deepmind/code_contests"
        )


def _entry(row: Row) -> ImportedProblem | SkippedEntry:
    identifier = str(row.get("name") or "a row without name")
    try:
        return _problem(identifier, row)
    except UnusableProblemError as reason:
        return SkippedEntry(identifier, str(reason))


def _problem(identifier: str, row: Row) -> ImportedProblem:
    statement = row.get("description")
    if not isinstance(statement, str) or not statement.strip():
        raise UnusableProblemError("it has no description")
    tests = tuple(_tests(row))
    if not tests:
        raise UnusableProblemError("it has no tests")
    notes = []
    time_limit, memory_limit = _time_limit(row), row.get("memory_limit_bytes") or 0
    if not time_limit:
        notes.append(f"time limit not given: {_TIME_LIMIT:g} s assumed")
    if memory_limit <= 0:
        notes.append(f"memory limit not given: {_MEMORY_LIMIT // 2**20} MiB assumed")
    if row.get("input_file") or row.get("output_file"):
        raise UnusableProblemError("its programs read or write files")
    notes += [*_unpaired(row, "solutions"), *_unpaired(row, "incorrect_solutions")]
    right, wrong = _programs(row, "solutions", RIGHT_KEPT), _programs(row, "incorrect_solutions", WRONG_KEPT)
    contest, url = _origin(row)
    return ImportedProblem(
        external_id=identifier,
        title=identifier.partition(". ")[2] or identifier,
        statement=statement,
        statement_format="markdown",
        time_limit=time_limit or _TIME_LIMIT,
        memory_limit=memory_limit if memory_limit > 0 else _MEMORY_LIMIT,
        checker=Checker(float_absolute=_TOLERANCE).to_json(),
        tests=tests,
        tags=tuple(str(tag) for tag in row.get("cf_tags") or () if tag),
        references=tuple(
            ReferenceRecord(language, f"solution-{number}", source)
            for number, (language, source) in enumerate(right, 1)
        ),
        programs=tuple(
            ProgramRecord("wrong", f"incorrect-{number}", language, {"": source})
            for number, (language, source) in enumerate(wrong, 1)
        ),
        rating=row.get("cf_rating") or None,
        contest=contest,
        source_url=url,
        notes=tuple(notes),
    )


def _tests(row: Row) -> Iterator[TestRecord]:
    """Yield public tests as samples, then private and generated tests, without repeated inputs."""
    seen: set[str] = set()
    for name in ("public", "private", "generated"):
        columns = row.get(f"{name}_tests") or {}
        if isinstance(columns, Mapping):
            inputs, outputs = columns.get("input") or (), columns.get("output") or ()
            if len(inputs) != len(outputs):
                raise UnusableProblemError(
                    f"its {name}_tests have {len(inputs)} inputs and {len(outputs)} outputs"
                )
            pairs = list(zip(inputs, outputs, strict=True))
        else:  # the protocol buffer has one object per test
            pairs = [(test.get("input"), test.get("output")) for test in columns]
        for number, (given, answer) in enumerate(pairs, 1):
            if not isinstance(given, str) or not isinstance(answer, str):
                raise UnusableProblemError(f"its {name}_tests are not pairs of an input and an output")
            if given not in seen:
                seen.add(given)
                yield TestRecord(f"{name}-{number}", name == "public", _bytes(given), _bytes(answer))


def _bytes(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode("utf-8", "replace")


def _programs(row: Row, name: str, most: int) -> list[tuple[str, str]]:
    """Return the first distinct programs in supported languages, at most `most`."""
    columns: Any = row.get(name) or {}
    given: Iterable[tuple[Any, Any]]
    if isinstance(columns, Mapping):
        given = zip(columns.get("language") or (), columns.get("solution") or (), strict=False)
    else:
        given = ((program.get("language"), program.get("solution")) for program in columns)
    found: dict[tuple[str, str], None] = {}
    for number, source in given:
        language = _LANGUAGES.get(number)
        if language and isinstance(source, str) and 0 < len(source) <= _LONGEST_PROGRAM and len(found) < most:
            found[language, source] = None
    return list(found)


def _unpaired(row: Row, name: str) -> Iterator[str]:
    """Yield a note if the columns of the programs differ in length."""
    columns = row.get(name)
    if isinstance(columns, Mapping):
        languages, sources = len(columns.get("language") or ()), len(columns.get("solution") or ())
        if languages != sources:
            yield f"its {name} have {languages} languages and {sources} programs: those without a pair are left out"


def _time_limit(row: Row) -> float:
    """Return the limit in seconds, 0 without one. The published converter writes protocol buffer text: "seconds: 2"."""
    limit = row.get("time_limit")
    if isinstance(limit, str):
        limit = dict(re.findall(r"(seconds|nanos): (\d+)", limit))
    if isinstance(limit, Mapping):
        return float(limit.get("seconds") or 0) + float(limit.get("nanos") or 0) / 1e9
    return 0.0


def _origin(row: Row) -> tuple[str, str]:
    source = _SOURCES.get(row.get("source") or 0, "")
    contest, index = row.get("cf_contest_id") or 0, row.get("cf_index") or ""
    if source == "Codeforces" and contest:
        url = f"https://codeforces.com/problemset/problem/{contest}/{index}" if index else ""
        return f"{source} {contest}", url
    return source, ""
