"""The check of a folder of runs: every file, every row and every reference, before anything is written."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError

from benchmark.methods import METHODS, ReflexionSettings, RetrySettings, scoring_of
from benchmark.model_calls import Price, RateLimits, RunBudget
from benchmark.models import Generation, Run
from benchmark.models.language_models import content_hash_of
from benchmark.providers import ModelSpecError, parse_model_spec
from benchmark.transfer.folder import FolderError, content_hash, parse, read_lines, reason_of
from benchmark.transfer.records import (
    FileEntry,
    GenerationRecord,
    ItemRecord,
    JudgementRecord,
    Manifest,
    ProblemRecord,
    Record,
    RunRecord,
    SubmissionRecord,
)

PRICE = TypeAdapter(Price)
BUDGET = TypeAdapter(RunBudget)
LIMITS = TypeAdapter(RateLimits)

R = TypeVar("R", bound=Record)

Progress = Callable[[int], object]
"""A callback that gets a number of lines that were checked or written."""

Target = tuple[int, int]
"""The line of a work item and a step: a reply of a run."""


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


@dataclass
class CheckedRun:
    """A run of a folder whose files are valid."""

    record: RunRecord
    hash: str
    problems: list[ProblemRecord]
    chains: "array[int]"
    """The number of replies of each work item."""
    wanted: set[tuple[UUID, Target]]
    """The replies, of this or of other runs, that replies of this run repeat."""
    stored: Run | None = None


class FolderReader:
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


class RunCheck:
    """The check of one run: each line alone, then its references."""

    def __init__(self, reader: FolderReader, run: UUID, progress: Progress) -> None:
        self._reader = reader
        self._run = run
        self._progress = progress
        self._problems: dict[str, ProblemRecord] = {}
        self._programs: list[str] = []
        self._judged: list[str] = []
        """The problem of each submission and of each judgement."""

    def check(self) -> CheckedRun:
        """Return the run. Raises FolderError."""
        record = self._check_run()
        for where, problem in self._records("problems.jsonl", ProblemRecord):
            refuse_if(problem.id in self._problems, where, f"the problem {problem.id!r} occurs twice")
            self._problems[problem.id] = problem
        for where, program in self._records("submissions.jsonl", SubmissionRecord):
            self._check_problem(where, program.problem)
            self._programs.append(program.problem)
        for where, judgement in self._records("judgements.jsonl", JudgementRecord):
            wrong = judgement.submission > len(self._programs)
            refuse_if(wrong, where, f"there is no line {judgement.submission} in submissions.jsonl")
            self._judged.append(self._programs[judgement.submission - 1])
            if judgement.replaces is not None:
                refuse_if(
                    judgement.replaces >= len(self._judged),
                    where,
                    f"replaces: line {judgement.replaces} does not precede it",
                )
                self._check_judgement(where, "replaces", judgement.replaces, self._judged[-1])
        items = self._check_items(record)
        steps = array("L", bytes(array("L").itemsize * len(items)))
        wanted: set[tuple[UUID, Target]] = set()
        self._check_generations(items, steps, wanted)
        for line, (item, count) in enumerate(zip(items, steps, strict=True), 1):
            chosen = item[1]
            where = f"{self._run}/items.jsonl, line {line}"
            refuse_if(chosen is not None and chosen >= count, where, f"selected: it has no step {chosen}")
        hash_of_files = content_hash(self._reader.manifest.files, self._run)
        stored = Run.objects.filter(pk=self._run).first()
        if stored and stored.source and stored.source["content_hash"] != hash_of_files:
            raise FolderError(
                f"{self._run}: this run was imported before with other content "
                f"(hash {stored.source['content_hash'][:12]}, now {hash_of_files[:12]}). Nothing was changed."
            )
        return CheckedRun(record, hash_of_files, list(self._problems.values()), steps, wanted, stored)

    def _records(self, name: str, kind: type[R]) -> Iterator[tuple[str, R]]:
        for found in self._reader.records(self._run, name, kind):
            self._progress(1)
            yield found

    def _check_run(self) -> RunRecord:
        entry = self._reader.entry(self._run, "run.json")
        refuse_if(entry.rows != 1, entry.name, f"{entry.rows} lines instead of one")
        [(where, record)] = self._records("run.json", RunRecord)
        refuse_if(record.id != self._run, where, f"id: it is {record.id}, and the folder is {self._run}")
        refuse_if(
            record.method not in METHODS or scoring_of(record.method) == "none",
            where,
            f"method: this version of Hintbench has no method {record.method!r} with attempts",
        )
        models = [record.model, record.tutor.model if record.tutor else None]
        specs = [record.model_spec, *(model.spec for model in models if model)]
        specs += [record.tutor.model_spec] if record.tutor else []
        for spec in specs:
            try:
                parse_model_spec(spec)
            except ModelSpecError as error:
                raise FolderError(f"{where}: model_spec: {error}") from None
        for model in filter(None, models):
            digest = content_hash_of(model.spec, model.parameters, model.context_tokens)
            refuse_if(digest != model.content_hash, where, "model.content_hash: not the hash of the model")
        uneven = record.attempts % record.epochs
        refuse_if(uneven, where, f"attempts: {record.attempts} is not a multiple of {record.epochs} epochs")
        last_draw = record.first_draw + record.epochs - 1
        refuse_if(last_draw >= 2**31, where, "first_draw: too large")
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
            refuse_if(item.chain >= record.attempts, where, f"chain: the run has {record.attempts} attempts")
            place = (item.chain, item.problem)
            refuse_if(place <= before, where, "the items are not in the order of chain and problem")
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
            refuse_if(reply.item > len(items), where, f"item: there is no line {reply.item} in items.jsonl")
            refuse_if(reply.item < last, where, "the replies are not in the order of their items")
            last = reply.item
            expected = steps[reply.item - 1]
            refuse_if(reply.step != expected, where, f"step: {reply.step} instead of {expected}")
            steps[reply.item - 1] += 1
            purposes = Generation.Purpose.values
            refuse_if(reply.purpose not in purposes, where, f"purpose: {reply.purpose!r} is not known")
            problem = items[reply.item - 1][0]
            self._check_judgement(where, "sample_judgement", reply.sample_judgement, problem)
            self._check_judgement(where, "hidden_judgement", reply.hidden_judgement, problem)
            if reply.reused:
                wanted.add((reply.reused.run, (reply.reused.item, reply.reused.step)))

    def _check_problem(self, where: str, problem: str) -> None:
        refuse_if(problem not in self._problems, where, f"problem: {problem!r} is not in problems.jsonl")

    def _check_judgement(self, where: str, name: str, line: int | None, problem: str) -> None:
        if line is None:
            return
        refuse_if(line > len(self._judged), where, f"{name}: there is no line {line} in judgements.jsonl")
        other = self._judged[line - 1]
        refuse_if(other != problem, where, f"{name}: line {line} judges a program for {other!r}")


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
    prices += [record.tutor.price, record.tutor.model.price] if record.tutor else []
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


def refuse_if(refused: object, where: str, reason: str) -> None:
    if refused:
        raise FolderError(f"{where}: {reason}.")


def check_repeated(runs: Sequence[CheckedRun]) -> None:
    """Raise FolderError for a repeated reply that is neither in the folder nor here."""
    by_id = {run.record.id: run for run in runs}
    for run in runs:
        for other, (item, step) in sorted(run.wanted):
            held = by_id.get(other)
            known = held is not None and item <= len(held.chains) and step < held.chains[item - 1]
            refuse_if(
                not known,
                f"{run.record.id}/generations.jsonl",
                f"reused: a reply repeats step {step} of item {item} of run {other}, which is not in the folder",
            )


def wanted_of(run: UUID, runs: Sequence[CheckedRun]) -> set[Target]:
    return {target for one in runs if not one.stored for other, target in one.wanted if other == run}
