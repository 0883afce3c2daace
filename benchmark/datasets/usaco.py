"""The USACO collection: a JSON object of problems, and an optional folder of hidden tests.

The keys are those of the USACO benchmark's released files (docs/spec.md 10.1). Numbers may be strings. "MB" of a memory
limit means MiB, as in the benchmark's judge.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from benchmark.datasets.json_stream import read_entries
from benchmark.datasets.records import (
    ImportedProblem,
    Importer,
    ReferenceRecord,
    SkippedEntry,
    Source,
    SourceError,
    TestRecord,
    UnusableProblemError,
)
from benchmark.models import ReferenceSolution
from benchmark.rendering.usaco_samples import find_samples
from judge import Checker

_REQUIRED = ("name", "description", "problem_level", "runtime_limit", "memory_limit")
_LEVELS = ("bronze", "silver", "gold", "platinum")
_SEASON = re.compile(r"page=(nov|dec|jan|feb|mar|open)(\d\d)results")
_MONTHS = {"nov": 11, "dec": 12, "jan": 1, "feb": 2, "mar": 3}
_MONTH_NAMES = {11: "November", 12: "December", 1: "January", 2: "February", 3: "March"}
_MEBIBYTE = 2**20
TEST_FILE = re.compile(r"(\d{1,6})\.(?:in|out)|[IO]\.(\d{1,6})")
"""File names of a test: `1.in` and `1.out`, or `I.1` and `O.1`."""
_TEST_FOLDERS = ("tests", "usaco_v3/tests", "usaco_v2/tests")


@contextmanager
def open_usaco(path: Path, tests: Path | None = None) -> Iterator[Source]:
    """Open a USACO JSON file with hidden tests from `tests`, by default from a known folder next to the file.

    Raises SourceError if the file is not such a collection or the folder does not exist.
    """
    count = _count(path)
    folder = _tests_folder(path, tests)
    yield Source(count, (_entry(key, value, folder) for key, value in _entries(path)))


IMPORTER = Importer("usaco", "a JSON file such as usaco_dict.json", open_usaco, open_with_tests=open_usaco)


def _count(path: Path) -> int:
    """Return the number of entries. Raises SourceError if the file has no entry of a problem, or is damaged."""
    if not path.is_file():
        raise SourceError(f"{path} is not a file; the format usaco needs a JSON file such as usaco_dict.json")
    count, problems = 0, False
    for _, entry in _entries(path):
        count += 1
        problems = problems or (isinstance(entry, dict) and entry.keys() >= set(_REQUIRED))
    if not problems:
        raise SourceError(f"{path} contains no USACO problem: no entry has the keys {', '.join(_REQUIRED)}")
    return count


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield identifiers and entries: keys of an object, or of a list the fields problem_id of its objects."""
    for key, entry in read_entries(path, "object", "list"):
        if key is not None:
            yield key, entry
        elif isinstance(entry, dict):
            yield str(entry.get("problem_id", "")), entry


def _tests_folder(path: Path, tests: Path | None) -> Path | None:
    if tests is not None:
        if not tests.is_dir():
            raise SourceError(f"the folder of tests {tests} does not exist")
        return tests
    return next((folder for name in _TEST_FOLDERS if (folder := path.parent / name).is_dir()), None)


def _entry(key: str, value: object, folder: Path | None) -> ImportedProblem | SkippedEntry:
    try:
        return _problem(key, value, folder)
    except UnusableProblemError as reason:
        return SkippedEntry(key, str(reason))


def _problem(key: str, value: object, folder: Path | None) -> ImportedProblem:
    if not isinstance(value, dict):
        raise UnusableProblemError(f"the entry is a {type(value).__name__}, not an object")
    if missing := [name for name in _REQUIRED if name not in value]:
        raise UnusableProblemError(f"it has no {', '.join(missing)}")
    level = str(value["problem_level"]).lower()
    if level not in _LEVELS:
        raise UnusableProblemError(f"its level is {level!r}, not one of {', '.join(_LEVELS)}")
    statement = _text(value, "description")
    samples = _samples(value, statement)
    hidden, notes = _hidden_tests(key, value, folder)
    if not samples and not hidden:
        raise UnusableProblemError("its statement has no sample and there are no hidden tests")
    english = _text(value, "solution_english")
    analysis = _text(value, "solution") or english
    python = _text(value, "solution_python3")
    contest, contest_date = contest_of(str(value.get("contest_link") or ""))
    return ImportedProblem(
        external_id=key,
        title=_text(value, "name").strip() or key,
        tier=level,
        statement=statement,
        statement_format="usaco",
        analysis=analysis,
        analysis_format="usaco" if analysis else "",
        analysis_english=english,
        time_limit=_number(value, "runtime_limit"),
        memory_limit=round(_number(value, "memory_limit") * _MEBIBYTE),
        checker=Checker(kind="tokens").to_json(),
        tests=tuple(merge_samples(samples, hidden)),
        references=(ReferenceRecord("python", ReferenceSolution.PUBLISHED, python),)
        if python.strip()
        else (),
        contest=contest,
        contest_date=contest_date,
        source_url=_address(value.get("problem_link")),
        test_data_link=_address(value.get("test_data_link")),
        tests_announced=_announced(value.get("num_tests")),
        tests_stored_separately=not hidden,
        notes=tuple(notes),
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise UnusableProblemError(f"its {name} is a {type(found).__name__}, not a string")
    return found.replace("\r\n", "\n")


def _number(value: Mapping[str, Any], name: str) -> float:
    try:
        number = float(value[name])
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < 100_000:
        raise UnusableProblemError(f"its {name} is {value[name]!r}, not a positive number")
    return number


def _announced(value: object) -> int | None:
    """Return the record's number of tests; None if it is not a plausible number."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) <= 6 else None


def _address(value: object) -> str:
    return value if isinstance(value, str) and value.startswith(("http://", "https://")) else ""


def contest_of(link: str) -> tuple[str, date | None]:
    """Return the contest's name and the first day of its month, from the URL of its results.

    The US Open takes place in March, until 2014 in April, after a separate March contest.
    """
    match = _SEASON.search(link)
    if match is None:
        return "", None
    name, year = match[1], 2000 + int(match[2])
    if name == "open":
        return f"US Open {year}", date(year, 4 if year <= 2014 else 3, 1)
    month = _MONTHS[name]
    return f"{_MONTH_NAMES[month]} {year}", date(year, month, 1)


def _samples(value: Mapping[str, Any], statement: str) -> list[TestRecord]:
    """Return the samples that the file lists; otherwise those of the statement."""
    listed = value.get("samples")
    if isinstance(listed, list) and all(isinstance(entry, dict) for entry in listed):
        found = [
            (_text(entry, "input"), _text(entry, "output"), _text(entry, "explanation")) for entry in listed
        ]
    else:
        found = [(sample.input, sample.output, sample.explanation) for sample in find_samples(statement)]
    return [
        TestRecord(f"sample-{number}", True, _bytes(given), _bytes(expected), explanation)
        for number, (given, expected, explanation) in enumerate(found, 1)
    ]


def _bytes(text: str) -> bytes:
    return text.strip("\n").encode("utf-8", "replace") + b"\n"


def _hidden_tests(
    key: str, value: Mapping[str, Any], folder: Path | None
) -> tuple[list[TestRecord], list[str]]:
    """Return tests 1 to num_tests from `<n>.in`/`<n>.out` or `I.<n>`/`O.<n>`, and notes."""
    if folder is None:
        return [], []
    own = (folder / key).resolve()
    if not own.is_relative_to(folder.resolve()) or own == folder.resolve():
        raise UnusableProblemError("its identifier leads out of the folder of tests")
    if not own.is_dir():
        return [], [f"no hidden tests in {folder}: judged on samples only"]
    try:
        count = int(value.get("num_tests") or 0)
    except (TypeError, ValueError):
        raise UnusableProblemError(f"its num_tests is {value['num_tests']!r}, not a number") from None
    numbers = [
        int(match[1] or match[2]) for file in own.iterdir() if (match := TEST_FILE.fullmatch(file.name))
    ]
    count = max([count, *numbers])
    if count == 0:
        raise UnusableProblemError(f"{own} contains no test")
    tests = []
    for number in range(1, count + 1):
        given, expected = find_test(own, number, "in"), find_test(own, number, "out")
        if given is None or expected is None:
            raise UnusableProblemError(
                f"test {number} of {count} has no {'input' if given is None else 'answer'} in {own}"
            )
        tests.append(TestRecord(str(number), False, read_test(given), read_test(expected)))
    return tests, []


def find_test(folder: Path, number: int, kind: str) -> Path | None:
    """Return the input ("in") or answer ("out") file of a test by either naming scheme; None without one."""
    names = (f"{number}.{kind}", f"{kind[0].upper()}.{number}")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_test(path: Path) -> bytes:
    """Return the content of a test's file with Unix line endings."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def merge_samples(samples: Sequence[TestRecord], hidden: Sequence[TestRecord]) -> Iterator[TestRecord]:
    """Yield the samples, then the hidden tests.

    If test j equals sample j except for white space, the test replaces the sample.
    """
    same = {
        number
        for number, (sample, test) in enumerate(zip(samples, hidden, strict=False))
        if _tokens(sample.input) == _tokens(test.input) and _tokens(sample.answer) == _tokens(test.answer)
    }
    for number, sample in enumerate(samples):
        if number in same:
            test = hidden[number]
            yield TestRecord(test.name, True, test.input, test.answer, sample.explanation)
        else:
            yield sample
    yield from (test for number, test in enumerate(hidden) if number not in same)


def _tokens(content: bytes | Path) -> list[bytes]:
    return (content if isinstance(content, bytes) else content.read_bytes()).split()
