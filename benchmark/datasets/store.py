"""The writer of the problem bank: stores the records of an importer in one transaction."""

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from benchmark.datasets import formats
from benchmark.datasets.question_sets import QuestionsInUseError, import_question_set
from benchmark.datasets.records import (
    CandidateRecord,
    ImportedProblem,
    ListedTestRecord,
    OracleRecord,
    ProgramRecord,
    QuestionRecord,
    SizedGeneratorRecord,
    SkippedEntry,
    SourceError,
    TestRecord,
)
from benchmark.datasets.usaco import merge_samples
from benchmark.judging import store_former_version, store_submission
from benchmark.models import (
    Candidate,
    Dataset,
    Figure,
    ListedTest,
    PackageProgram,
    Problem,
    ReferenceSolution,
    SizedGenerator,
    TestCase,
    Verifier,
    blobs,
)
from benchmark.rendering import RENDERER_VERSION, render
from benchmark.text.excerpts import excerpt, excerpt_of
from benchmark.text.tags import distinct_tags

OnProgress = Callable[[int, int], None]
"""A callback with the number of processed entries and their total."""

_LENGTHS = {"title": 300, "contest": 200, "credits": 500, "license": 100}
_LONGEST_IDENTIFIER = 200
_LONGEST_SAMPLE = 10_000  # characters
_LONGEST_ADDRESS = 500
_UNHASHED_COLUMNS = ("statement_html", "analysis_html", "rendered_by", "test_data_link", "tests_announced")
"""Columns that the content hash does not cover."""
_HASHED_COLUMNS = (
    "title", "statement", "analysis", "contest", "credits", "license", "tier", "tags", "statement_format",
    "analysis_format", "time_limit", "memory_limit", "checker", "samples_text", "samples_only", "contest_date",
    "source_url",
)  # fmt: skip
"""Columns that the content hash covers, without HTML."""
_HASH_VERSION = "1"
"""Version of the hashed document. A new version marks every stored problem as changed."""


@dataclass
class DatasetImport:
    """The result of an import. Stored problems that are no longer in the source are kept."""

    dataset: str
    imported: int = 0
    unchanged: int = 0
    updated: int = 0
    questions: int = 0
    skipped: list[SkippedEntry] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `import_problems --json` prints."""
        return {
            "dataset": self.dataset,
            "imported": self.imported,
            "unchanged": self.unchanged,
            "updated": self.updated,
            "questions": self.questions,
            "left_out": [{"id": entry.external_id, "reason": entry.reason} for entry in self.skipped],
            "notes": [{"id": external_id, "note": note} for external_id, note in self.notes],
        }


@dataclass(frozen=True)
class _Prepared:
    """A rendered problem whose contents are in the blob store, ready to be written.

    `content_stored` means that the hashed content is already stored, so only unhashed columns are written.
    """

    external_id: str
    content_stored: bool
    columns: dict[str, Any]
    tests: list[dict[str, Any]]
    references: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    programs: list[dict[str, Any]]
    listed_tests: list[dict[str, Any]]
    sized_generators: list[dict[str, Any]]
    oracle: OracleRecord | None
    candidates: tuple[CandidateRecord, ...]


class _PreparedFile:
    """Prepared problems in a temporary file, because their texts may exceed the memory."""

    def __init__(self) -> None:
        self._file = TemporaryFile(dir=settings.VAR)  # noqa: SIM115  (closed by __exit__)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, problem: _Prepared) -> None:
        pickle.dump(problem, self._file)

    def __iter__(self) -> Iterator[_Prepared]:
        end = self._file.tell()
        self._file.seek(0)
        while self._file.tell() < end:
            yield pickle.load(self._file)  # noqa: S301  (no other process can open the file)


def import_problems(
    format_name: str,
    path: Path,
    dataset_name: str,
    tests: Path | None = None,
    progress: OnProgress | None = None,
) -> DatasetImport:
    """Import the source at `path` into the dataset of that name, which is created if necessary.

    Unchanged problems keep their rows; only their HTML is updated if the renderer has a new version. Changed problems
    keep their primary key, because sessions and submissions refer to it, and get new fields, tests, references and
    figures. All rows are written in one transaction after the whole source is read. Raises SourceError; then only blobs
    without rows may have been written.
    """
    if format_name not in formats():
        raise SourceError(f"unknown format {format_name!r}; the formats are: {', '.join(formats())}")
    _refuse_other_format(dataset_name, format_name)
    rows = Problem.objects.filter(dataset__name=dataset_name)
    stored = {
        external_id: _StoredState(*values)
        for external_id, *values in rows.values_list("external_id", *_StoredState._fields)
    }
    result = DatasetImport(dataset_name)
    seen: set[str] = set()
    with _PreparedFile() as changed, formats()[format_name].open_source(path, tests) as source:
        for done, entry in enumerate(source.entries, 1):
            if isinstance(entry, SkippedEntry):
                result.skipped.append(entry)
            elif reason := _unstorable(entry, seen):
                result.skipped.append(SkippedEntry(entry.external_id, reason))
            else:
                seen.add(entry.external_id)
                problem = entry
                if entry.tests_stored_separately and entry.external_id in stored:
                    problem = _with_stored_tests(entry, rows.get(external_id=entry.external_id))
                result.notes += [(problem.external_id, note) for note in problem.notes]
                prepared = _prepare(problem, dataset_name, stored.get(problem.external_id))
                if prepared is None:
                    result.unchanged += 1
                else:
                    changed.append(prepared)
                    result.updated += problem.external_id in stored
                    result.imported += problem.external_id not in stored
            if progress is not None:
                progress(done, source.total)
        questions = source.questions
        with transaction.atomic():
            if result.updated or result.imported:
                _write(dataset_name, format_name, changed)
            if questions and (result.updated or result.imported or stored):
                result.questions = _write_questions(dataset_name, questions, result)
    return result


def _write_questions(dataset_name: str, records: tuple[QuestionRecord, ...], result: DatasetImport) -> int:
    """Store the source's questions under the dataset's name; return their number."""
    try:
        question_set = import_question_set(Dataset.objects.get(name=dataset_name), records)
    except QuestionsInUseError as error:
        raise SourceError(str(error)) from error
    result.skipped += [SkippedEntry(entry["id"], entry["reason"]) for entry in question_set.skipped]
    return question_set.questions.count()


def _refuse_other_format(name: str, format_name: str) -> None:
    dataset = Dataset.objects.filter(name=name).first()
    if dataset is not None and dataset.known_as:
        raise SourceError(f"the dataset {name} contains problems of imported runs; choose another name")
    if dataset is not None and dataset.format != format_name:
        raise SourceError(
            f"the dataset {name} contains problems of the format {dataset.format}; choose another name"
        )


def _unstorable(problem: ImportedProblem, seen: set[str]) -> str:
    """Return the reason why the problem cannot be stored, or ""."""
    identifier = problem.external_id
    if identifier in seen:
        return "another problem of this source has the same identifier"
    if not identifier.strip("/. ") or len(identifier) > _LONGEST_IDENTIFIER or not identifier.isprintable():
        return f"its identifier must be 1 to {_LONGEST_IDENTIFIER} printable characters"
    if not problem.statement.strip():
        return "its statement is empty"
    return ""


class _StoredState(NamedTuple):
    """The columns of a stored problem that decide whether the problem must be written."""

    content_hash: str
    rendered_by: str
    test_data_link: str
    tests_announced: int | None


def _prepare(problem: ImportedProblem, dataset_name: str, stored: _StoredState | None) -> _Prepared | None:
    """Return the data to write for this problem, or None if the stored problem is identical and up to date."""
    tests = [_stored_test(order, test) for order, test in enumerate(problem.tests)]
    references = [
        {
            "order": order,
            "language": one.language,
            "name": _clean(one.name)[:200],
            "source": _clean(one.source),
        }
        for order, one in enumerate(problem.references)
    ]
    figures = [
        {"name": one.name, "media_type": one.media_type, "content_hash": blobs.put(one.content)}
        for one in problem.figures
    ]
    programs = [_stored_program(order, one) for order, one in enumerate(problem.programs)]
    listed_tests = [_stored_listed_test(order, one) for order, one in enumerate(problem.listed_tests)]
    sized = [{"order": order, **asdict(one)} for order, one in enumerate(problem.sized_generators)]
    columns = _columns(problem)
    english = _clean(problem.analysis_english)
    content_hash = _content_hash(
        columns | {"tags": [_clean(tag) for tag in problem.tags]},  # with duplicates, as in older versions
        tests,
        references,
        figures,
        *([programs] if programs else []),
        *([problem.rating] if problem.rating else []),
        *([{"analysis_english": english}] if english else []),
        *([problem.signature, problem.oracle, problem.candidates] if problem.signature else []),
    )
    link = problem.test_data_link if len(problem.test_data_link) <= _LONGEST_ADDRESS else ""
    current = _StoredState(content_hash, RENDERER_VERSION, link, problem.tests_announced)
    unhashed_rows = (_listed_tests(dataset_name, problem), _sized_generators(dataset_name, problem))
    if stored == current and (listed_tests, sized) == unhashed_rows:
        return None
    addresses = {
        figure["name"]: reverse("figure", args=[dataset_name, problem.external_id, figure["name"]])
        for figure in figures
    }
    columns["statement_html"] = render(columns["statement"], problem.statement_format, addresses)
    if problem.analysis_format:
        columns["analysis_html"] = render(columns["analysis"], problem.analysis_format, addresses)
    columns |= {
        **current._asdict(),
        "rating": problem.rating,
        "analysis_english": english,
        "signature": problem.signature.to_json() if problem.signature else None,
    }
    return _Prepared(
        problem.external_id,
        stored is not None and stored.content_hash == content_hash,
        columns,
        tests,
        references,
        figures,
        programs,
        listed_tests,
        sized,
        problem.oracle,
        problem.candidates,
    )


def replace_hidden_tests(problem: Problem, hidden: Sequence[TestRecord]) -> bool:
    """Replace the hidden tests of a stored problem; return whether they changed.

    The content hash becomes that of an import with these tests, so judgements on the old tests stay distinguishable.
    """
    samples, _ = _stored_tests(problem)
    merged = list(merge_samples(samples, hidden))
    tests = [_stored_test(order, test) for order, test in enumerate(merged)]
    if tests == list(problem.tests.values(*tests[0])):
        return False
    with transaction.atomic():
        store_former_version(problem)
        problem.samples_only = all(test.sample for test in merged)
        problem.content_hash = _content_hash_of_stored(problem, tests)
        problem.tests.all().delete()
        TestCase.objects.bulk_create(TestCase(problem=problem, **columns) for columns in tests)
        problem.save(update_fields=["samples_only", "content_hash", "imported_at"])
    return True


def _content_hash_of_stored(problem: Problem, tests: list[dict[str, Any]]) -> str:
    """Return the content hash of a problem without signature, as an import with these tests computes it."""
    columns = {name: getattr(problem, name) for name in _HASHED_COLUMNS} | {"analysis_html": ""}
    references = list(problem.references.values("order", "language", "name", "source"))
    figures = list(problem.figures.order_by("pk").values("name", "media_type", "content_hash"))
    from_package = problem.package_programs.filter(author="")
    programs = list(from_package.values("order", "role", "name", "language", "files", "expected", "commands"))
    return _content_hash(
        columns,
        tests,
        references,
        figures,
        *([programs] if programs else []),
        *([problem.rating] if problem.rating else []),
    )


def _with_stored_tests(entry: ImportedProblem, problem: Problem) -> ImportedProblem:
    """Return the problem with its stored hidden tests, if its source does not contain tests."""
    _, hidden = _stored_tests(problem)
    return replace(entry, tests=tuple(merge_samples(entry.tests, hidden)), notes=()) if hidden else entry


def _stored_tests(problem: Problem) -> tuple[list[TestRecord], list[TestRecord]]:
    """Return the samples and the official tests of a stored problem as in its source. A test may be both."""
    rows = list(problem.tests.all())
    samples = [one for one in rows if one.origin == TestCase.Origin.SAMPLE]
    official = sorted((one for one in rows if one.name.isdigit()), key=lambda one: int(one.name))
    return (
        [
            TestRecord(f"sample-{number}", True, *_contents(one), one.explanation)
            for number, one in enumerate(samples, 1)
        ],
        [TestRecord(one.name, False, *_contents(one)) for one in official],
    )


def _contents(test: TestCase) -> tuple[bytes, bytes]:
    return blobs.read(test.input_hash), blobs.read(test.answer_hash)


def _samples_text(tests: Iterable[TestRecord]) -> str:
    """Return the samples for prompts, each text shortened to the maximum length."""
    lines: list[str] = []
    for number, test in enumerate((test for test in tests if test.sample), 1):
        for what, content in (("Input", test.input), ("Output", test.answer)):
            shown = (
                excerpt_of(content, _LONGEST_SAMPLE)
                if isinstance(content, Path)
                else excerpt(content.decode("utf-8", "replace"), _LONGEST_SAMPLE)
            )
            lines.append(f"Sample {what} {number}:\n{shown}")
        if test.explanation:
            lines.append(f"Explanation of sample {number}:\n{test.explanation.strip()}")
    return _clean("\n\n".join(lines))


def _columns(problem: ImportedProblem) -> dict[str, Any]:
    """Return the columns of the problem's row that come directly from the source."""
    texts = ("title", "statement", "analysis", "contest", "credits", "license")
    columns: dict[str, Any] = {name: _clean(getattr(problem, name)) for name in texts}
    for name, length in _LENGTHS.items():
        if len(columns[name]) > length:
            columns[name] = columns[name][: length - 1] + "…"
    return columns | {
        "tier": problem.tier,
        "tags": distinct_tags(map(_clean, problem.tags)),
        "statement_format": problem.statement_format,
        "analysis_format": problem.analysis_format,
        "time_limit": problem.time_limit,
        "memory_limit": problem.memory_limit,
        "checker": dict(problem.checker),
        "samples_text": "" if problem.states_samples else _samples_text(problem.tests),
        "samples_only": all(test.sample for test in problem.tests),
        "contest_date": problem.contest_date,
        "source_url": problem.source_url if len(problem.source_url) <= _LONGEST_ADDRESS else "",
        "analysis_html": "",
    }


def _clean(text: str) -> str:
    """Return `text` without NUL characters and unpaired surrogates, which databases reject."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _stored_test(order: int, test: TestRecord) -> dict[str, Any]:
    return {
        "order": order,
        "name": _clean(test.name)[:200],
        "origin": TestCase.Origin.SAMPLE if test.sample else TestCase.Origin.HIDDEN,
        "input_hash": _save_blob(test.input),
        "answer_hash": _save_blob(test.answer),
        "explanation": _clean(test.explanation),
    }


def _stored_program(order: int, one: ProgramRecord) -> dict[str, Any]:
    return {
        "order": order,
        "role": one.role,
        "name": _clean(one.name)[:200],
        "language": one.language,
        "files": {_clean(name): _clean(text) for name, text in one.files.items()},
        "expected": list(one.expected),
        "commands": [[kind, _clean(arguments)] for kind, arguments in one.commands],
    }


def _stored_listed_test(order: int, one: ListedTestRecord) -> dict[str, Any]:
    """Return the columns of a row. The content hash does not cover them: the suite's recipe contains them."""
    texts = {name: _clean(getattr(one, name)) for name in ("name", "generator", "salt", "solution")}
    return {
        "order": order,
        **{name: text[:200] for name, text in texts.items()},
        "kind": one.kind,
        "arguments": _clean(one.arguments),
        "input_hash": "" if one.input is None else _save_blob(one.input),
        "answer_hash": "" if one.answer is None else _save_blob(one.answer),
        "fault": _clean(one.fault),
    }


def _listed_tests(dataset_name: str, problem: ImportedProblem) -> list[dict[str, Any]]:
    """Return the stored rows of the problem."""
    names = [field.name for field in ListedTest._meta.fields if field.name not in ("id", "problem")]
    rows = ListedTest.objects.filter(
        problem__dataset__name=dataset_name, problem__external_id=problem.external_id
    )
    return list(rows.values(*names))


def _sized_generators(dataset_name: str, problem: ImportedProblem) -> list[dict[str, Any]]:
    """Return the stored rows of the problem's package."""
    rows = SizedGenerator.objects.filter(
        problem__dataset__name=dataset_name, problem__external_id=problem.external_id, author=""
    )
    return list(rows.values("order", *(field.name for field in fields(SizedGeneratorRecord))))


def _save_blob(content: bytes | Path) -> str:
    return blobs.put(content if isinstance(content, bytes) else content.read_bytes())


def _content_hash(*parts: object) -> str:
    """Return the SHA-256 of everything stored except HTML. Runs, suites and verifiers refer to it."""
    document = json.dumps([_HASH_VERSION, *parts], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()


def _write(dataset_name: str, format_name: str, problems: Iterable[_Prepared]) -> None:
    dataset, _ = Dataset.objects.get_or_create(name=dataset_name, defaults={"format": format_name})
    for prepared in problems:
        if prepared.content_stored:
            problem = dataset.problems.get(external_id=prepared.external_id)
            unhashed = {name: prepared.columns[name] for name in _UNHASHED_COLUMNS}
            dataset.problems.filter(pk=problem.pk).update(**unhashed)
            _write_unhashed_rows(problem, prepared)
            continue
        if former := dataset.problems.filter(external_id=prepared.external_id).first():
            store_former_version(former)
        problem, created = Problem.objects.update_or_create(
            dataset=dataset, external_id=prepared.external_id, defaults=prepared.columns
        )
        if not created:
            problem.tests.all().delete()
            problem.references.all().delete()
            problem.figures.all().delete()
            problem.package_programs.filter(author="").delete()
        TestCase.objects.bulk_create(TestCase(problem=problem, **columns) for columns in prepared.tests)
        ReferenceSolution.objects.bulk_create(
            ReferenceSolution(problem=problem, **columns) for columns in prepared.references
        )
        Figure.objects.bulk_create(Figure(problem=problem, **columns) for columns in prepared.figures)
        PackageProgram.objects.bulk_create(
            PackageProgram(problem=problem, **columns) for columns in prepared.programs
        )
        _write_unhashed_rows(problem, prepared)
        _write_oracle(problem, prepared)


def _write_unhashed_rows(problem: Problem, prepared: _Prepared) -> None:
    """Replace the rows that are not part of the content hash: listed tests, and generators by size."""
    problem.sized_generators.filter(author="").delete()
    SizedGenerator.objects.bulk_create(
        SizedGenerator(problem=problem, **columns) for columns in prepared.sized_generators
    )
    problem.listed_tests.all().delete()
    ListedTest.objects.bulk_create(
        ListedTest(problem=problem, **columns) for columns in prepared.listed_tests
    )


def _write_oracle(problem: Problem, prepared: _Prepared) -> None:
    """Store the oracle as a verifier to build, and the candidates. Verifiers built earlier are kept."""
    problem.candidates.all().delete()
    for one in prepared.candidates:
        Candidate.objects.create(
            problem=problem,
            submission=store_submission(problem, _clean(one.source), one.language),
            name=_clean(one.name)[:200],
            official_verdict=one.official_verdict,
        )
    if prepared.oracle:
        programs = {name: _clean(text) for name, text in asdict(prepared.oracle).items()}
        Verifier.objects.create(
            problem=problem, state=Verifier.State.PROGRAMS, problem_hash=problem.content_hash, **programs
        )
