"""Import of official contest tests for problems that are already imported.

A source is a zip as the contest publishes it, or a folder as in the published collection (docs/spec.md 10.1). A source
belongs to the problems whose identifier is its name, and to those whose `test_data_link` ends with its name. Several
problems may share a link.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings

from benchmark.datasets.archives import MAXIMUM_UNPACKED, unpack
from benchmark.datasets.records import SourceError, TestRecord
from benchmark.datasets.store import replace_hidden_tests
from benchmark.datasets.usaco import TEST_FILE, find_test, read_test
from benchmark.models import Problem

_MAXIMUM_DEPTH = 8
_MAXIMUM_NAMED = 20


class UnusableTestsError(Exception):
    """A source whose tests cannot be used; the message is the reason."""


@dataclass(frozen=True)
class _Source:
    """A zip or a folder, its name in messages, and its problems."""

    name: str
    path: Path
    problems: tuple[Problem, ...]


@dataclass
class TestsImport:
    """The result of an import of tests. `skipped` and `notes` are pairs of a name and a text."""

    __test__ = False  # pytest must not collect it

    updated: int = 0
    unchanged: int = 0
    unmatched: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `import_tests --json` prints."""
        return {
            "updated": self.updated,
            "unchanged": self.unchanged,
            "unmatched": self.unmatched,
            "left_out": [{"file": name, "reason": reason} for name, reason in self.skipped],
            "notes": [{"id": external_id, "note": note} for external_id, note in self.notes],
        }


def import_official_tests(
    folder: Path,
    problems: Sequence[Problem],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TestsImport:
    """Import the tests in the folder's zips and folders for their problems.

    A problem gets all tests of its source or none. Imports are idempotent. `progress` is called with the number of
    processed sources and their total.
    """
    result = TestsImport()
    sources, result.unmatched = _find_sources(folder, _names(problems))
    served: dict[int, str] = {}
    for done, source in enumerate(sources, 1):
        fresh = [one for one in source.problems if one.pk not in served]
        served |= {one.pk: source.name for one in fresh}
        for problem in source.problems:
            if problem not in fresh:
                given = served[problem.pk]
                result.skipped.append((source.name, f"{problem} already has its tests from {given}"))
        if fresh:
            _import_source(source, fresh, result)
        progress(done, len(sources))
    return result


def _import_source(source: _Source, problems: Sequence[Problem], result: TestsImport) -> None:
    try:
        with tempfile.TemporaryDirectory(prefix="tests-", dir=settings.VAR) as unpacked:
            if source.path.is_dir():
                tests = read_tests(source.path)
            else:
                unpack(source.path, Path(unpacked))
                tests = read_tests(Path(unpacked))
            for problem in problems:
                _import_tests(problem, tests, result)
    except (UnusableTestsError, SourceError, OSError) as error:
        reason = str(error).replace(f"{source.path} ", "the zip ").replace(str(source.path), source.name)
        result.skipped.append((source.name, reason))


def _import_tests(problem: Problem, tests: Sequence[TestRecord], result: TestsImport) -> None:
    if replace_hidden_tests(problem, tests):
        result.updated += 1
    else:
        result.unchanged += 1
    if problem.tests_announced not in (None, len(tests)):
        note = f"{len(tests)} tests; the problem's record announces {problem.tests_announced}"
        result.notes.append((str(problem), note))


def read_tests(root: Path) -> list[TestRecord]:
    """Return tests 1 to n of the only folder below `root` that contains tests. Raises UnusableTestsError."""
    folders: dict[Path, set[int]] = {}
    size = 0
    for parent, _, files in _walk(root):
        for name in files:
            if match := TEST_FILE.fullmatch(name):
                folders.setdefault(parent, set()).add(int(match[1] or match[2]))
                size += (parent / name).stat().st_size
    if not folders:
        raise UnusableTestsError("it contains no test: neither 1.in with 1.out nor I.1 with O.1")
    if len(folders) > 1:
        where = ", ".join(sorted(str(folder.relative_to(root)) for folder in folders))
        raise UnusableTestsError(f"it contains tests in several folders: {where}")
    if size > MAXIMUM_UNPACKED:
        raise UnusableTestsError(
            f"its tests are larger than {MAXIMUM_UNPACKED // 2**20} MiB (IMPORT_UNPACKED_MB)"
        )
    [(folder, numbers)] = folders.items()
    return _numbered_tests(folder, max(numbers))


def _numbered_tests(folder: Path, count: int) -> list[TestRecord]:
    """Return tests 1 to `count`. Raises UnusableTestsError with the names of the missing files."""
    if count > len(list(folder.iterdir())):
        raise UnusableTestsError(f"its tests are numbered up to {count}, but there are fewer files")
    tests, missing = [], []
    for number in range(1, count + 1):
        given, expected = find_test(folder, number, "in"), find_test(folder, number, "out")
        if given is None or expected is None:
            lacks = [what for what, file in (("input", given), ("answer", expected)) if file is None]
            missing.append(f"test {number} has no {' and no '.join(lacks)}")
        else:
            tests.append(TestRecord(str(number), False, read_test(given), read_test(expected)))
    if missing:
        more = f" and {len(missing) - _MAXIMUM_NAMED} more" if len(missing) > _MAXIMUM_NAMED else ""
        raise UnusableTestsError(", ".join(missing[:_MAXIMUM_NAMED]) + more)
    return tests


def link_name(link: str) -> str:
    """Return the last part of a link's path, decoded."""
    return PurePosixPath(unquote(urlsplit(link).path)).name


def _names(problems: Sequence[Problem]) -> Mapping[str, tuple[Problem, ...]]:
    """Return the possible names of sources, in lower case and without suffix, with their problems."""
    found: dict[str, dict[int, Problem]] = {}
    for problem in problems:
        for name in (problem.external_id, PurePosixPath(link_name(problem.test_data_link)).stem):
            if name:
                found.setdefault(name.lower(), {})[problem.pk] = problem
    return {name: tuple(entries.values()) for name, entries in found.items()}


def _find_sources(folder: Path, names: Mapping[str, tuple[Problem, ...]]) -> tuple[list[_Source], list[str]]:
    """Return the sources sorted by path, and unmatched files and folders of tests."""
    sources, unmatched = [], []
    for parent, folders, files in _walk(folder):
        shown = parent.relative_to(folder)
        for name in [name for name in folders if name.lower() in names]:
            sources.append(_Source(str(shown / name), parent / name, names[name.lower()]))
            folders.remove(name)
        others = []
        for name in files:
            stem, suffix = os.path.splitext(name)
            if suffix.lower() == ".zip" and stem.lower() in names:
                sources.append(_Source(str(shown / name), parent / name, names[stem.lower()]))
            elif suffix != ".part":
                others.append(name)
        if parent != folder and any(TEST_FILE.fullmatch(name) for name in others):
            unmatched.append(f"{shown}/")
        else:
            unmatched += [str(shown / name) for name in others]
    return sorted(sources, key=lambda one: one.name), sorted(unmatched)


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield as os.walk does, but sorted and without hidden files and those of macOS. Callers may prune the folders."""
    for parent, folders, files in os.walk(root):
        depth = len(Path(parent).relative_to(root).parts)
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "__MACOSX")) and depth < _MAXIMUM_DEPTH
        )
        yield Path(parent), folders, sorted(name for name in files if not name.startswith("."))
