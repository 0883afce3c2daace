"""LiveCodeBench's code generation data: rows with public and private tests, standard input or functional.

Source: docs/spec.md 10.8. Private tests are JSON, or base64 of zlib of a pickle of the same text. The importer parses
the pickle's text and never loads the pickle: loading could run any program and allocate any amount of memory.
"""

import base64
import binascii
import json
import pickletools
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from benchmark.datasets.algo import checker_of
from benchmark.datasets.archives import MAXIMUM_UNPACKED
from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    SkippedEntry,
    Source,
    TestRecord,
    UnusableProblemError,
)
from benchmark.datasets.rows import Row, read_rows
from benchmark.functional import NotFunctionalError, Signature, normal_answer
from judge import Checker

_SECONDS = 6.0
"""The time limit of every test in the published harness."""

_MEMORY = 512 * 2**20
"""An assumption in bytes: the data contains no memory limit."""

_TEXT = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
_OPCODES = 8
"""More opcodes than the pickle of a string has in any protocol."""
_REQUIRED = ("question_id", "question_title", "question_content", "public_test_cases")
_DIFFICULTIES = ("easy", "medium", "hard")


@contextmanager
def open_livecodebench(path: Path) -> Iterator[Source]:
    """Open the problems of a file (test.jsonl …) or of a folder of files. Raises SourceError."""
    total, rows = read_rows(path)
    yield Source(total, (_entry(row) for row in rows))


IMPORTER = Importer("livecodebench", "a file or a folder of files: JSON lines or Parquet", open_livecodebench)


def _entry(row: Row) -> ImportedProblem | SkippedEntry:
    try:
        return _problem(row)
    except (UnusableProblemError, NotFunctionalError) as reason:
        return SkippedEntry(str(row.get("question_id") or "a row without question_id"), str(reason))


def _problem(row: Row) -> ImportedProblem:
    if missing := [name for name in _REQUIRED if not isinstance(row.get(name), str)]:
        raise UnusableProblemError(f"it has no {', '.join(missing)}")
    public = _tests(row["public_test_cases"], "public_test_cases")
    private = _tests(row.get("private_test_cases") or "[]", "private_test_cases")
    kinds = {str(test.get("testtype")) for test in (*public, *private)}
    if len(kinds) != 1 or not kinds <= {"stdin", "functional"}:
        raise UnusableProblemError(f"its tests are of the kinds {', '.join(sorted(kinds)) or 'none'}")
    signature = _signature(row) if kinds == {"functional"} else None
    checker = checker_of(signature) if signature else Checker(case_sensitive=True)
    difficulty = str(row.get("difficulty") or "")
    statement = row["question_content"].replace("\r\n", "\n")
    if signature:
        statement += f"\n\n```python\n{row['starter_code'].rstrip()}\n```\n"
    return ImportedProblem(
        external_id=row["question_id"],
        title=row["question_title"],
        statement=statement,
        statement_format="markdown",
        time_limit=_SECONDS,
        memory_limit=_MEMORY,
        checker=checker.to_json(),
        tests=(*_records(public, True, signature), *_records(private, False, signature)),
        tags=(difficulty,) if difficulty in _DIFFICULTIES else (),
        contest=f"{row.get('platform') or ''} {row.get('contest_id') or ''}".strip(),
        contest_date=_day(row.get("contest_date")),
        signature=signature,
    )


def _signature(row: Row) -> Signature:
    """Return the method of the starter code.

    Raises UnusableProblemError if the metadata names another method, and NotFunctionalError.
    """
    signature = Signature.of(str(row.get("starter_code") or ""))
    try:
        named = json.loads(row.get("metadata") or "{}").get("func_name")
    except (ValueError, AttributeError, RecursionError):
        raise UnusableProblemError("its metadata is not a JSON object") from None
    if named and named != signature.method:
        raise UnusableProblemError(
            f"its starter code has the method {signature.method}, its metadata names {named}"
        )
    return signature


def _tests(packed: str, name: str) -> list[dict[str, Any]]:
    try:
        tests = json.loads(packed)
    except RecursionError as error:
        raise UnusableProblemError(f"its {name} cannot be read: {error}") from error
    except ValueError:
        tests = _unpacked(packed, name)
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        raise UnusableProblemError(f"its {name} are not a list of tests")
    return tests


def _unpacked(packed: str, name: str) -> Any:
    """Return the value in base64 of zlib of a pickle of a JSON text. Raises UnusableProblemError."""
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(base64.b64decode(packed, validate=True), MAXIMUM_UNPACKED)
        if not unpacking.eof:
            raise UnusableProblemError(
                f"its {name} are incomplete, or unpack to more than {MAXIMUM_UNPACKED // 2**20} MiB "
                "(IMPORT_UNPACKED_MB)"
            )
        return json.loads(_pickled_text(content, name))
    except (binascii.Error, zlib.error, ValueError, RecursionError, MemoryError) as error:
        raise UnusableProblemError(f"its {name} cannot be unpacked: {error}") from error


def _pickled_text(content: bytes, name: str) -> str:
    """Return the pickled string.

    Raises UnusableProblemError for a pickle of anything else, ValueError for anything that is not a pickle.
    """
    texts = []
    for opcode, value, _ in islice(pickletools.genops(content), _OPCODES):
        if opcode.name in _TEXT:
            texts.append(value)
        elif opcode.name not in _AROUND:
            raise UnusableProblemError(
                f"its {name} contain more than a string: their pickle has the instruction {opcode.name}"
            )
    if len(texts) != 1:
        raise UnusableProblemError(f"its {name} contain {len(texts)} strings, not one")
    return str(texts[0])


def _records(tests: list[dict[str, Any]], sample: bool, signature: Signature | None) -> Iterator[TestRecord]:
    for number, test in enumerate(tests, 1):
        name = f"{'public' if sample else 'private'}-{number}"
        given, answer = test.get("input"), test.get("output")
        if not isinstance(given, str) or not isinstance(answer, str):
            raise UnusableProblemError(f"its test {name} is not a pair of strings")
        if signature:
            try:
                answer = normal_answer(answer, signature)
            except ValueError:
                raise UnusableProblemError(f"the answer of its test {name} is not a JSON value") from None
        yield TestRecord(name, sample, _bytes(given), _bytes(answer))


def _bytes(text: str) -> bytes:
    return text.replace("\r\n", "\n").rstrip("\n").encode("utf-8", "replace") + b"\n"


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
