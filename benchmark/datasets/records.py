"""What importers hand to the store: plain records, no tables."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from benchmark.functional import Signature


class SourceError(Exception):
    """The source cannot be imported as a whole; the message says what is wrong, where, and what to do."""


class UnusableProblemError(Exception):
    """A problem cannot be imported; the message is the reason why it is skipped."""


@dataclass(frozen=True)
class TestRecord:
    """One test. Input and answer are bytes, or the path of a file that exists until the source is closed."""

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    name: str
    sample: bool
    input: bytes | Path
    answer: bytes | Path
    explanation: str = ""


@dataclass(frozen=True)
class ReferenceRecord:
    """A program that came with the problem."""

    language: str
    name: str
    source: str


TestKind = Literal["random", "corner", "stress"]
"""What a generated test is for."""


@dataclass(frozen=True)
class ProgramRecord:
    """A program that came with the problem and is no solution of it; the fields are those of `PackageProgram`.

    `files` are its texts by name. A generator's `commands` are the kind of test and the arguments, in which
    `{seed}` stands for a number.
    """

    role: Literal["generator", "input_validator", "wrong"]
    name: str
    language: str
    files: Mapping[str, str]
    expected: tuple[str, ...] = ()
    commands: tuple[tuple[TestKind, str], ...] = ()


@dataclass(frozen=True)
class ListedTestRecord:
    """A test that a package lists for its suite; the fields are those of `ListedTest`.

    It has an input, or a generator with arguments, or a fault that says why it cannot be made. The answer is None where
    a solution gives it.
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
    """An oracle and the functions that make inputs for it, all Python that a model wrote; blank where there is none."""

    oracle: str
    validator: str = ""
    generator: str = ""
    batch: str = ""
    tricky: str = ""
    official_verdict: str = ""


@dataclass(frozen=True)
class CandidateRecord:
    """A program that a model wrote for the problem, and what the official judge said of it ("" where unknown)."""

    language: str
    name: str
    source: str
    official_verdict: str


@dataclass(frozen=True)
class FigureRecord:
    """A picture that a browser can show, already checked."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class ImportedProblem:
    """One problem as its source has it. Limits: seconds of CPU time, bytes of memory.

    `states_samples` says whether the statement itself shows its samples, as most do; where it does not, a model is
    shown those of `tests` beside it. `analysis_english` is the explanation without programs, where the source has it
    besides `analysis`. `tests_stored_separately`: the source keeps hidden tests elsewhere, so that having none says nothing of
    those that are stored. `notes` tell the person who imports what was assumed or dropped; they are not stored.
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
    """A problem of the source that cannot be imported, and why."""

    external_id: str
    reason: str


@dataclass(frozen=True)
class QuestionRecord:
    """A question about similar problems, all named by their ids: `positive` is the right option."""

    reference: str
    positive: str
    negatives: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """An opened source: how many entries it has, and the entries. Reading them may raise SourceError."""

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
