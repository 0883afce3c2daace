"""The import of runs. Every file and every row is checked before anything is written, in one transaction."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from pydantic import BaseModel, TypeAdapter, ValidationError

from benchmark.methods import METHODS, ReflexionSettings, RetrySettings, scoring_of
from benchmark.model_calls import Price, RateLimits, RunBudget
from benchmark.model_calls.inserts import insert_generations
from benchmark.models import (
    Dataset,
    Generation,
    Judgement,
    LanguageModel,
    Problem,
    Run,
    Submission,
    WorkItem,
)
from benchmark.models.language_models import content_hash_of
from benchmark.providers import ModelSpecError, parse_model_spec
from benchmark.runner.draws import reserve_draws
from benchmark.transfer.exporting import ordered_items
from benchmark.transfer.folder import (
    FolderError,
    content_hash,
    parse,
    read_lines,
    read_manifest,
    reason_of,
)
from benchmark.transfer.records import (
    FileEntry,
    GenerationRecord,
    ItemRecord,
    JudgementRecord,
    Manifest,
    ModelRecord,
    ProblemRecord,
    Record,
    RunRecord,
    SubmissionRecord,
)

ROWS_AT_ONCE = 200


class _Environment(BaseModel):
    git: dict[str, Any] | None = None


class _ManifestEntries(BaseModel):
    """The entries of a run's manifest that figures and pages read."""

    cutoff: date | None = None
    failures: Literal["wrong", "excluded"] = "wrong"
    scripted_model: bool = False
    profile: dict[str, Any] | None = None
    dataset: dict[str, Any] = {}
    environment: _Environment = _Environment()


PRICE = TypeAdapter(Price)
BUDGET = TypeAdapter(RunBudget)
LIMITS = TypeAdapter(RateLimits)

R = TypeVar("R", bound=Record)
T = TypeVar("T")

Progress = Callable[[int], object]
"""A callback that gets a number of lines that were checked or written."""

Target = tuple[int, int]
"""The line of a work item and a step: a reply of a run."""


@dataclass
class ImportedRuns:
    """The result of an import: the new runs, and the ids of runs that were here before."""

    new: list[Run] = field(default_factory=list)
    unchanged: list[UUID] = field(default_factory=list)


@dataclass
class _Checked:
    """A run of a folder whose files are valid."""

    record: RunRecord
    hash: str
    problems: list[ProblemRecord]
    chains: "array[int]"
    """The number of replies of each work item."""
    wanted: set[tuple[UUID, Target]]
    """The replies, of this or of other runs, that replies of this run repeat."""
    stored: Run | None = None


def lines_of(folder: Path) -> int:
    """Return the number of lines that the import of a folder checks. Raises FolderError."""
    return sum(file.rows for file in read_manifest(folder).files)


def import_runs(folder: Path, checked: Progress, written: Progress) -> ImportedRuns:
    """Import the runs of a folder that are not here. Raises FolderError before anything is written."""
    manifest = read_manifest(folder)
    reader = _Reader(folder, manifest)
    runs = [_CheckRun(reader, run, checked).check() for run in manifest.runs]
    _check_repeated(runs)
    found = ImportedRuns()
    with transaction.atomic():
        replies: dict[UUID, dict[Target, int]] = {}
        for run in runs:
            if run.stored:
                found.unchanged.append(run.stored.pk)
            else:
                found.new.append(
                    _RunImport(reader, run, _wanted_of(run.record.id, runs), written).write(replies)
                )
        for run in runs:
            if not run.stored:
                _link_repeated(reader, run, replies, runs)
    return found


class _Reader:
    """The files of a folder by run and name."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._folder = folder
        self._entries = {file.name: file for file in manifest.files}

    def entry(self, run: UUID, name: str) -> FileEntry:
        """Return the entry of a file in the manifest."""
        return self._entries[f"{run}/{name}"]

    def records(self, run: UUID, name: str, kind: type[R]) -> Iterator[tuple[str, R]]:
        """Yield the place and the record of each line. Raises FolderError."""
        entry = self.entry(run, name)
        for number, line in enumerate(read_lines(self._folder, entry), 1):
            where = f"{entry.name}, line {number}"
            yield where, parse(kind, line, where)


class _CheckRun:
    """The check of one run: each line alone, then its references."""

    def __init__(self, reader: _Reader, run: UUID, progress: Progress) -> None:
        self._reader = reader
        self._run = run
        self._progress = progress
        self._problems: dict[str, ProblemRecord] = {}
        self._programs: list[str] = []
        self._judged: list[str] = []
        """The problem of each submission and of each judgement."""

    def check(self) -> _Checked:
        """Return the run. Raises FolderError."""
        record = self._check_run()
        for where, problem in self._records("problems.jsonl", ProblemRecord):
            _refuse_if(problem.id in self._problems, where, f"the problem {problem.id!r} occurs twice")
            self._problems[problem.id] = problem
        for where, program in self._records("submissions.jsonl", SubmissionRecord):
            self._check_problem(where, program.problem)
            self._programs.append(program.problem)
        for where, judgement in self._records("judgements.jsonl", JudgementRecord):
            wrong = judgement.submission > len(self._programs)
            _refuse_if(wrong, where, f"there is no line {judgement.submission} in submissions.jsonl")
            self._judged.append(self._programs[judgement.submission - 1])
        items = self._check_items(record)
        steps = array("L", bytes(array("L").itemsize * len(items)))
        wanted: set[tuple[UUID, Target]] = set()
        self._check_generations(items, steps, wanted)
        for line, (item, count) in enumerate(zip(items, steps, strict=True), 1):
            chosen = item[1]
            where = f"{self._run}/items.jsonl, line {line}"
            _refuse_if(chosen is not None and chosen >= count, where, f"selected: it has no step {chosen}")
        hash_of_files = content_hash(self._reader.manifest.files, self._run)
        stored = Run.objects.filter(pk=self._run).first()
        if stored and stored.source and stored.source["content_hash"] != hash_of_files:
            raise FolderError(
                f"{self._run}: this run was imported before with other content "
                f"(hash {stored.source['content_hash'][:12]}, now {hash_of_files[:12]}). Nothing was changed."
            )
        return _Checked(record, hash_of_files, list(self._problems.values()), steps, wanted, stored)

    def _records(self, name: str, kind: type[R]) -> Iterator[tuple[str, R]]:
        for found in self._reader.records(self._run, name, kind):
            self._progress(1)
            yield found

    def _check_run(self) -> RunRecord:
        entry = self._reader.entry(self._run, "run.json")
        _refuse_if(entry.rows != 1, entry.name, f"{entry.rows} lines instead of one")
        [(where, record)] = self._records("run.json", RunRecord)
        _refuse_if(record.id != self._run, where, f"id: it is {record.id}, and the folder is {self._run}")
        _refuse_if(
            record.method not in METHODS or scoring_of(record.method) == "none",
            where,
            f"method: this version of Hintbench has no method {record.method!r} with attempts",
        )
        specs = [record.model_spec, *([record.model.spec] if record.model else [])]
        for spec in specs:
            try:
                parse_model_spec(spec)
            except ModelSpecError as error:
                raise FolderError(f"{where}: model_spec: {error}") from None
        if record.model:
            model = record.model
            digest = content_hash_of(model.spec, model.parameters, model.context_tokens)
            _refuse_if(digest != model.content_hash, where, "model.content_hash: not the hash of the model")
        uneven = record.attempts % record.epochs
        _refuse_if(uneven, where, f"attempts: {record.attempts} is no multiple of {record.epochs} epochs")
        last_draw = record.first_draw + record.epochs - 1
        _refuse_if(last_draw >= 2**31, where, "first_draw: too large")
        if fault := _unreadable(record):
            raise FolderError(f"{where}: {fault}.")
        return record

    def _check_items(self, record: RunRecord) -> list[tuple[str, int | None]]:
        """Return problem and selected step of each work item."""
        items: list[tuple[str, int | None]] = []
        before: tuple[int, str] = (-1, "")
        for where, item in self._records("items.jsonl", ItemRecord):
            self._check_problem(where, item.problem)
            self._check_judgement(where, "judgement", item.judgement, item.problem)
            _refuse_if(item.chain >= record.attempts, where, f"chain: the run has {record.attempts} attempts")
            place = (item.chain, item.problem)
            _refuse_if(place <= before, where, "the items are not in the order of chain and problem")
            before = place
            items.append((item.problem, item.selected))
        return items

    def _check_generations(
        self,
        items: Sequence[tuple[str, int | None]],
        steps: "array[int]",
        wanted: set[tuple[UUID, Target]],
    ) -> None:
        """Count the replies of each item in `steps`, and collect the replies that are repeated in `wanted`."""
        last = 0
        for where, reply in self._records("generations.jsonl", GenerationRecord):
            _refuse_if(reply.item > len(items), where, f"item: there is no line {reply.item} in items.jsonl")
            _refuse_if(reply.item < last, where, "the replies are not in the order of their items")
            last = reply.item
            expected = steps[reply.item - 1]
            _refuse_if(reply.step != expected, where, f"step: {reply.step} instead of {expected}")
            steps[reply.item - 1] += 1
            purposes = Generation.Purpose.values
            _refuse_if(reply.purpose not in purposes, where, f"purpose: {reply.purpose!r} is not known")
            problem = items[reply.item - 1][0]
            self._check_judgement(where, "sample_judgement", reply.sample_judgement, problem)
            self._check_judgement(where, "hidden_judgement", reply.hidden_judgement, problem)
            if reply.reused:
                wanted.add((reply.reused.run, (reply.reused.item, reply.reused.step)))

    def _check_problem(self, where: str, problem: str) -> None:
        _refuse_if(problem not in self._problems, where, f"problem: {problem!r} is not in problems.jsonl")

    def _check_judgement(self, where: str, name: str, line: int | None, problem: str) -> None:
        if line is None:
            return
        _refuse_if(line > len(self._judged), where, f"{name}: there is no line {line} in judgements.jsonl")
        other = self._judged[line - 1]
        _refuse_if(other != problem, where, f"{name}: line {line} judges a program for {other!r}")


def _unreadable(record: RunRecord) -> str:
    """Return which field of a run the figures and pages of this version cannot read; blank without any."""
    settings = METHODS[record.method].settings
    needed = {"k"} if scoring_of(record.method) == "refine" else set()
    if issubclass(settings, ReflexionSettings | RetrySettings):
        needed |= {"i", "selection"}
    if missing := sorted(needed - record.parameters.keys()):
        return f"parameters: {missing[0]} is missing"
    as_settings: Callable[..., object] = settings
    read_settings = {name: record.parameters[name] for name in needed}
    prices = [record.price, *([record.model.price] if record.model else [])]
    readers: list[tuple[str, Callable[[], object]]] = [
        ("price", lambda: [PRICE.validate_python(price) for price in prices if price]),
        ("budget", lambda: BUDGET.validate_python(record.budget)),
        ("limits", lambda: LIMITS.validate_python(record.limits)),
        ("manifest", lambda: _ManifestEntries.model_validate(record.manifest)),
        (
            "parameters",
            lambda: as_settings(**read_settings),
        ),
    ]
    for name, read in readers:
        try:
            read()
        except ValidationError as error:
            return f"{name}: {reason_of(error)}".removesuffix(".")
    return ""


def _refuse_if(refused: object, where: str, reason: str) -> None:
    if refused:
        raise FolderError(f"{where}: {reason}.")


def _check_repeated(runs: Sequence[_Checked]) -> None:
    """Raise FolderError for a repeated reply that is neither in the folder nor here."""
    by_id = {run.record.id: run for run in runs}
    for run in runs:
        for other, (item, step) in sorted(run.wanted):
            held = by_id.get(other)
            known = held is not None and item <= len(held.chains) and step < held.chains[item - 1]
            _refuse_if(
                not known,
                f"{run.record.id}/generations.jsonl",
                f"reused: a reply repeats step {step} of item {item} of run {other}, which is not in the folder",
            )


def _wanted_of(run: UUID, runs: Sequence[_Checked]) -> set[Target]:
    return {target for one in runs if not one.stored for other, target in one.wanted if other == run}


class _RunImport:
    """The rows of one run."""

    def __init__(self, reader: _Reader, checked: _Checked, wanted: set[Target], progress: Progress) -> None:
        self._reader = reader
        self._checked = checked
        self._wanted = wanted
        self._progress = progress

    def write(self, replies: dict[UUID, dict[Target, int]]) -> Run:
        """Write the run; add the keys of the wanted replies to `replies`."""
        record = self._checked.record
        self._problems = _problem_keys(record, self._checked.problems)
        self._run = self._write_run()
        judgements = self._write_judgements(self._write_submissions())
        items, selected = self._write_items(judgements)
        replies[record.id] = self._write_generations(items, judgements, selected)
        reserve_draws(record.model_spec, record.epochs, record.first_draw)
        return self._run

    def _batches(self, name: str, kind: type[R]) -> Iterator[list[R]]:
        records = (record for _, record in self._reader.records(self._checked.record.id, name, kind))
        for batch in _batched(records):
            self._progress(len(batch))
            yield batch

    def _write_run(self) -> Run:
        record = self._checked.record
        columns = {
            name: getattr(record, name)
            for name in RunRecord.model_fields
            if name not in ("source", "dataset", "model", "started_at")
        }
        problem = next(iter(self._problems.values()), None)
        dataset = problem.dataset if problem else _dataset(record, ())
        source = record.source.to_json() | {
            "content_hash": self._checked.hash,
            "imported_at": timezone.now().isoformat(timespec="seconds"),
        }
        model = _model(record.model) if record.model else None
        run = Run.objects.create(**columns, dataset=dataset, model=model, source=source)
        Run.objects.filter(pk=run.pk).update(started_at=record.started_at)
        self._progress(1 + len(self._checked.problems))
        return run

    def _write_submissions(self) -> "array[int]":
        keys = array("q")
        for batch in self._batches("submissions.jsonl", SubmissionRecord):
            rows = [
                Submission(
                    problem=self._problems[one.problem],
                    language=one.language,
                    source=one.source,
                    source_hash=one.source_hash,
                )
                for one in batch
            ]
            known = {
                (row.problem_id, row.language, row.source_hash): row.pk
                for row in Submission.objects.filter(source_hash__in={row.source_hash for row in rows}).only(
                    "problem", "language", "source_hash"
                )
            }
            new = [row for row in rows if (row.problem_id, row.language, row.source_hash) not in known]
            for row in Submission.objects.bulk_create(new):
                known[row.problem_id, row.language, row.source_hash] = row.pk
            keys.extend(known[row.problem_id, row.language, row.source_hash] for row in rows)
        return keys

    def _write_judgements(self, submissions: "array[int]") -> "array[int]":
        keys = array("q")
        columns = [name for name in JudgementRecord.model_fields if name not in ("submission", "result")]
        for batch in self._batches("judgements.jsonl", JudgementRecord):
            rows = [
                Judgement(
                    submission_id=submissions[one.submission - 1],
                    result=one.result.to_json() if one.result else None,
                    **{name: getattr(one, name) for name in columns},
                )
                for one in batch
            ]
            keys.extend(row.pk for row in Judgement.objects.bulk_create(rows))
        return keys

    def _write_items(self, judgements: "array[int]") -> tuple["array[int]", dict[Target, None]]:
        """Return the keys of the items, and the replies that they select."""
        keys = array("q")
        selected: dict[Target, None] = {}
        for batch in self._batches("items.jsonl", ItemRecord):
            rows = [
                WorkItem(
                    run=self._run,
                    problem=self._problems[one.problem],
                    chain=one.chain,
                    state=one.state,
                    fault=one.fault,
                    permanent=one.permanent,
                    judgement_id=judgements[one.judgement - 1] if one.judgement else None,
                )
                for one in batch
            ]
            for line, one in enumerate(batch, len(keys) + 1):
                if one.selected is not None:
                    selected[line, one.selected] = None
            keys.extend(row.pk for row in WorkItem.objects.bulk_create(rows))
        return keys, selected

    def _write_generations(
        self, items: "array[int]", judgements: "array[int]", selected: dict[Target, None]
    ) -> dict[Target, int]:
        """Write the replies and the selection of the items; return the keys of the wanted replies.

        Imported replies have no cache key: they never replace a call of this site.
        """
        references = ("item", "sample_judgement", "hidden_judgement", "reused")
        columns = [name for name in GenerationRecord.model_fields if name not in references]
        found: dict[Target, int] = {}
        for batch in self._batches("generations.jsonl", GenerationRecord):
            rows = [
                Generation(
                    work_item_id=items[one.item - 1],
                    sample_judgement_id=judgements[one.sample_judgement - 1]
                    if one.sample_judgement
                    else None,
                    hidden_judgement_id=judgements[one.hidden_judgement - 1]
                    if one.hidden_judgement
                    else None,
                    **{name: getattr(one, name) for name in columns},
                )
                for one in batch
            ]
            insert_generations(rows)
            chosen = []
            for one, row in zip(batch, rows, strict=True):
                target = (one.item, one.step)
                if target in selected:
                    chosen.append((row.pk, row.work_item_id))
                if target in self._wanted:
                    found[target] = row.pk
            with connection.cursor() as cursor:
                cursor.executemany("UPDATE benchmark_workitem SET selected_id = %s WHERE id = %s", chosen)
        return found


def _batched(records: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(records, ROWS_AT_ONCE)):
        yield batch


def _link_repeated(
    reader: _Reader, checked: _Checked, replies: dict[UUID, dict[Target, int]], runs: Sequence[_Checked]
) -> None:
    """Set `reused` of the replies of a new run that repeat a paid reply."""
    if not checked.wanted:
        return
    for run in runs:
        if run.stored and run.record.id not in replies:
            replies[run.record.id] = _stored_replies(run.stored, _wanted_of(run.record.id, runs))
    name = checked.record.id
    items = [pk for _, _, pk in ordered_items(Run.objects.get(pk=name))]
    records = (record for _, record in reader.records(name, "generations.jsonl", GenerationRecord))
    for batch in _batched(records):
        links = []
        for one in batch:
            if one.reused is None:
                continue
            other, target = one.reused.run, (one.reused.item, one.reused.step)
            _refuse_if(
                target not in replies[other], str(name), f"a reply repeats one that run {other} lacks here"
            )
            links.append((replies[other][target], items[one.item - 1], one.step))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE benchmark_generation SET reused_id = %s WHERE work_item_id = %s AND step = %s", links
            )


def _stored_replies(run: Run, wanted: set[Target]) -> dict[Target, int]:
    """Return the keys of replies of a run that was here before."""
    items = [pk for _, _, pk in ordered_items(run)]
    lines = {items[line - 1]: line for line, _ in wanted}
    rows = Generation.objects.filter(work_item__in=lines).values_list("work_item", "step", "pk")
    return {(lines[item], step): pk for item, step, pk in rows}


def _problem_keys(record: RunRecord, problems: Sequence[ProblemRecord]) -> dict[str, Problem]:
    """Return the rows of the run's problems by id: those of this site, or else of a dataset made for the purpose."""
    dataset = _dataset(record, problems)
    rows = {row.external_id: row for row in dataset.problems.only("external_id", "dataset", "content_hash")}
    missing = [one for one in problems if one.id not in rows]
    for row in Problem.objects.bulk_create(
        Problem(
            dataset=dataset,
            external_id=one.id,
            **{name: getattr(one, name) for name in ProblemRecord.model_fields if name != "id"},
        )
        for one in missing
    ):
        rows[row.external_id] = row
    for row in rows.values():
        row.dataset = dataset
    return {one.id: rows[one.id] for one in problems}


def _dataset(record: RunRecord, problems: Sequence[ProblemRecord]) -> Dataset:
    """Return the dataset of the run here.

    It is this site's dataset of that name if it has all problems with equal content; else a dataset of problems that
    are known from imported runs alone.
    """
    name = record.dataset.name
    own = Dataset.objects.filter(name=name, known_as="").first()
    if own and problems and _agreement(own, problems) == len(problems):
        return own
    for known in Dataset.objects.filter(known_as=name, format=record.dataset.format).order_by("pk"):
        if _agreement(known, problems) is not None:
            return known
    number, free = 1, f"{name[:60]}-imported"
    while Dataset.objects.filter(name=free).exists():
        number += 1
        free = f"{name[:60]}-imported-{number}"
    return Dataset.objects.create(name=free, format=record.dataset.format, known_as=name)


def _agreement(dataset: Dataset, problems: Sequence[ProblemRecord]) -> int | None:
    """Return how many of the problems the dataset has; None if one of them has other content there."""
    here = dict(dataset.problems.values_list("external_id", "content_hash"))
    found = [one for one in problems if one.id in here]
    agree = all(one.content_hash and here[one.id] == one.content_hash for one in found)
    return len(found) if agree else None


def _model(record: ModelRecord) -> LanguageModel:
    """Return this site's row with the same content, preferably the same version, or a new one that is not active."""
    same = LanguageModel.objects.filter(content_hash=record.content_hash)
    found = same.filter(label=record.label, version=record.version).first() or same.order_by("pk").first()
    if found:
        return found
    version = record.version
    versions = set(LanguageModel.objects.filter(label=record.label).values_list("version", flat=True))
    if version in versions:
        version = max(versions) + 1
    row = LanguageModel(
        active=False,
        frozen_at=timezone.now(),
        **record.model_dump() | {"version": version},
    )
    row.save()
    LanguageModel.objects.filter(pk=row.pk).update(created_at=record.created_at)
    return row
