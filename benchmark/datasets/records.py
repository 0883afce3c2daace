"""The records that importers return. They do not depend on the database."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from benchmark.functional import Signature


class SourceError(Exception):
    """A source that cannot be imported. The message states what is wrong, where, and what to do."""


class UnusableProblemError(Exception):
    """An error for a problem that cannot be imported; the message is the reason why it is skipped."""


@dataclass(frozen=True)
class TestRecord:
    """A test case. Input and answer are bytes, or the path of a file that exists until the source is closed."""

    __test__ = False  # pytest must not collect it

    name: str
    sample: bool
    input: bytes | Path
    answer: bytes | Path
    explanation: str = ""


@dataclass(frozen=True)
class ReferenceRecord:
    """A reference solution of a problem."""

    language: str
    name: str
    source: str


TestKind = Literal["random", "corner", "stress"]
"""The purpose of a generated test."""


@dataclass(frozen=True)
class ProgramRecord:
    """A program of a problem that is not a solution. The fields are those of the model `PackageProgram`.

    `files` maps file names to texts. `commands` of a generator are pairs of the kind of test and the arguments, in
    which `{seed}` is replaced by a number.
    """

    role: Literal["generator", "input_validator", "wrong"]
    name: str
    language: str
    files: Mapping[str, str]
    expected: tuple[str, ...] = ()
    commands: tuple[tuple[TestKind, str], ...] = ()


@dataclass(frozen=True)
class SizedGeneratorRecord:
    """A generator whose argument states the size. The fields are those of the model `SizedGenerator`."""

    parameter: str
    name: str
    language: str
    files: Mapping[str, str]
    arguments: str
    largest: int


@dataclass(frozen=True)
class ListedTestRecord:
    """A test that a package lists for its suite. The fields are those of the model `ListedTest`.

    It has an input, or a generator with arguments, or a fault: the reason why it cannot be generated. If the answer is
    None, a solution computes it.
    """

    name: str
    kind: TestKind | Literal[""] = ""
    generator: str = ""
    arguments: str = ""
    salt: str = ""
    solution: str = ""
    input: bytes | Path | None = None
    answer: bytes | Path | None = None
    fault: str = ""


@dataclass(frozen=True)
class OracleRecord:
    """An oracle and its input functions: Python programs that a model wrote, empty if missing."""

    oracle: str
    validator: str = ""
    generator: str = ""
    batch: str = ""
    tricky: str = ""
    official_verdict: str = ""


@dataclass(frozen=True)
class CandidateRecord:
    """A program that a model wrote for the problem, with its official verdict ("" if unknown)."""

    language: str
    name: str
    source: str
    official_verdict: str


@dataclass(frozen=True)
class FigureRecord:
    """A validated picture that browsers can display."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class ImportedProblem:
    """A problem as its source contains it. Limits are seconds of CPU time and bytes of memory.

    If `states_samples` is false, the statement does not contain its samples, and prompts add those of `tests`.
    `analysis_english` is the analysis without programs, if the source contains both. `tests_stored_separately` means
    that the source does not contain hidden tests, so an import keeps the stored ones. `notes` list assumptions and
    ignored parts for the operator; they are not stored.
    """

    external_id: str
    title: str
    statement: str
    statement_format: str
    time_limit: float
    memory_limit: int
    checker: Mapping[str, Any]
    tests: tuple[TestRecord, ...]
    tier: str = ""
    tags: tuple[str, ...] = ()
    analysis: str = ""
    analysis_format: str = ""
    analysis_english: str = ""
    references: tuple[ReferenceRecord, ...] = ()
    figures: tuple[FigureRecord, ...] = ()
    programs: tuple[ProgramRecord, ...] = ()
    listed_tests: tuple[ListedTestRecord, ...] = ()
    sized_generators: tuple[SizedGeneratorRecord, ...] = ()
    signature: Signature | None = None
    oracle: OracleRecord | None = None
    candidates: tuple[CandidateRecord, ...] = ()
    contest: str = ""
    contest_date: date | None = None
    rating: int | None = None
    source_url: str = ""
    test_data_link: str = ""
    tests_announced: int | None = None
    tests_stored_separately: bool = False
    credits: str = ""
    license: str = ""
    states_samples: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkippedEntry:
    """An entry of the source that cannot be imported, and the reason."""

    external_id: str
    reason: str


@dataclass(frozen=True)
class QuestionRecord:
    """A multiple-choice question about similar problems, given by their ids. `positive` is the correct option."""

    reference: str
    positive: str
    negatives: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """An opened source: the number of entries, the entries, and questions. Iterating may raise SourceError."""

    total: int
    entries: Iterator[ImportedProblem | SkippedEntry] = field(repr=False)
    questions: tuple[QuestionRecord, ...] = ()


@dataclass(frozen=True)
class Importer:
    """A dataset format: its name, what PATH must be (for the command's help), and the function that opens a source.

    `open_with_tests` also takes a folder of hidden tests; None for formats whose source contains its tests. Both
    functions raise SourceError. Temporary files exist until the context ends.
    """

    name: str
    source: str
    open: Callable[[Path], AbstractContextManager[Source]]
    open_with_tests: Callable[[Path, Path], AbstractContextManager[Source]] | None = None

    def open_source(self, path: Path, tests: Path | None) -> AbstractContextManager[Source]:
        """Open the source at `path`, with the hidden tests in the folder `tests` if given. Raises SourceError."""
        if tests is None:
            return self.open(path)
        if self.open_with_tests is None:
            raise SourceError(f"the format {self.name} has no separate hidden tests: omit --tests")
        return self.open_with_tests(path, tests)
