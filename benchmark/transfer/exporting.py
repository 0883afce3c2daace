"""The export of runs. The order of the lines and their texts depend on the rows alone, not on the database."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmark.methods import scoring_of
from benchmark.models import Generation, Judgement, LanguageModel, Problem, Run, RunTutor, WorkItem
from benchmark.transfer.folder import FileWriter, canonical, write_manifest
from benchmark.transfer.records import (
    FILES,
    DatasetRecord,
    FileEntry,
    GenerationRecord,
    ItemRecord,
    JudgementRecord,
    JudgementResult,
    ModelRecord,
    ProblemRecord,
    Record,
    ReusedRecord,
    RunRecord,
    SourceRecord,
    SubmissionRecord,
    TutorRecord,
)
from benchmark.transfer.secrets import SecretFilter

ITEMS_AT_ONCE = 100
"""Work items whose replies are in memory together."""

_PROBLEM_FIELDS = tuple(name for name in ProblemRecord.model_fields if name != "id")
_HIDDEN_TEXTS = ("message", "output", "errors")
"""Fields of a test's result that may quote the test."""


class CannotExportError(Exception):
    """Runs that cannot be exported; the message says why and what to do."""


def export_runs(runs: Sequence[Run], output: Path, site: str, progress: Callable[[int], object]) -> int:
    """Write the runs to a new folder and return its size in bytes.

    `site` is the name of this site in the runs that were executed here. `progress` gets the number of work items after
    each step. An export that fails leaves no folder. Raises CannotExportError.
    """
    if output.exists():
        raise CannotExportError(f"{output} exists. Name a new folder.")
    _check(runs)
    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    try:
        secrets = SecretFilter()
        files = [file for run in runs for file in _RunExport(run, partial, secrets, site).write(progress)]
        write_manifest(partial, [run.pk for run in runs], files)
        partial.rename(output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return sum(file.bytes for file in files)


def _check(runs: Sequence[Run]) -> None:
    """Raise CannotExportError for runs that have not ended, make no attempts, or repeat replies of runs not named."""
    for run in runs:
        if run.state == Run.State.OPEN:
            raise CannotExportError(
                f"Run {run.pk} is open: its rows still change. Wait for its end, or stop it with Ctrl-C."
            )
        if scoring_of(run.method) == "none":
            raise CannotExportError(f"Run {run.pk} builds verifiers and makes no attempts. Leave it out.")
    named = {run.pk for run in runs}
    repeated = Generation.objects.filter(work_item__run__in=named, reused__isnull=False).order_by()
    missing = set(repeated.values_list("reused__work_item__run", flat=True).distinct()) - named
    if missing:
        others = " ".join(sorted(map(str, missing)))
        raise CannotExportError(
            f"These runs repeat paid replies of other runs. Export them together: add {others}."
        )


def ordered_items(run: Run) -> list[tuple[int, str, int]]:
    """Return chain, problem id and key of each work item, in the order of the exported lines."""
    return sorted(run.items.order_by().values_list("chain", "problem__external_id", "pk"))


class _RunExport:
    """The export of one run."""

    def __init__(self, run: Run, folder: Path, secrets: SecretFilter, site: str) -> None:
        self._run = run
        self._folder = folder
        self._secrets = secrets
        self._site = site
        self._files: dict[str, FileWriter] = {}
        self._judgements: dict[int, int] = {}
        self._submissions: dict[int, int] = {}
        """The lines of written rows by their keys."""
        self._targets: dict[int, ReusedRecord] = {}
        self._lines: dict[UUID, dict[int, int]] = {}
        """The lines of work items by run and key, of runs whose replies are repeated."""

    def write(self, progress: Callable[[int], object]) -> list[FileEntry]:
        """Write the files of the run and return their entries."""
        with ExitStack() as opened:
            for name in FILES:
                writer = FileWriter(self._folder, f"{self._run.pk}/{name}")
                self._files[name] = opened.enter_context(writer)
            self._write_run()
            for problem in self._problems():
                self._write("problems.jsonl", problem)
            items = ordered_items(self._run)
            for first in range(0, len(items), ITEMS_AT_ONCE):
                step = items[first : first + ITEMS_AT_ONCE]
                self._write_items([pk for _, _, pk in step], first + 1)
                progress(len(step))
        return [file.entry for file in self._files.values()]

    def _write(self, name: str, record: Record) -> int:
        line = canonical(record.to_json())
        if found := self._secrets.found_in(line):
            self._refuse(name, self._files[name].rows + 1, found)
        return self._files[name].write(line)

    def _refuse(self, name: str, line: int, found: str) -> None:
        raise CannotExportError(
            f"Run {self._run.pk}, {name}, line {line} would hold {found}. Nothing was exported: keys and addresses "
            "do not leave this site."
        )

    def _write_run(self) -> None:
        record = run_record(self._run, self._secrets, self._site)
        settings = canonical(
            {
                "model": record.model.to_json() if record.model else None,
                "spec": record.model_spec,
                "limits": [record.price, record.budget, record.limits],
                "tutor": record.tutor.to_json() if record.tutor else None,
            }
        )
        if found := self._secrets.found_in_settings(canonical(record.to_json()), settings):
            self._refuse("run.json", 1, found)
        self._write("run.json", record)

    def _problems(self) -> list[ProblemRecord]:
        found = Problem.objects.filter(pk__in=self._run.items.values("problem"))
        records = [
            ProblemRecord(id=one.external_id, **_columns(one, ProblemRecord, "id"))
            for one in found.only("external_id", *_PROBLEM_FIELDS)
        ]
        return sorted(records, key=lambda record: record.id)

    def _write_items(self, keys: list[int], first_line: int) -> None:
        items = (
            WorkItem.objects.select_related("problem")
            .only("chain", "state", "fault", "permanent", "selected", "judgement", "problem__external_id")
            .in_bulk(keys)
        )
        replies: dict[int, list[Generation]] = {key: [] for key in keys}
        for row in Generation.objects.filter(work_item__in=keys).order_by("work_item", "step"):
            replies[row.work_item_id].append(row)
        self._write_judgements([(items[key], replies[key]) for key in keys])
        self._read_targets([row.reused_id for row in chain(*replies.values()) if row.reused_id])
        for line, key in enumerate(keys, first_line):
            self._write("items.jsonl", self._item(items[key], replies[key]))
            for reply in replies[key]:
                self._write("generations.jsonl", self._generation(reply, line))

    def _write_judgements(self, items: Sequence[tuple[WorkItem, Sequence[Generation]]]) -> None:
        """Write the judgements that these items refer to first, and their submissions."""
        named = dict.fromkeys(
            pk
            for item, replies in items
            for pk in (
                *(pk for reply in replies for pk in (reply.sample_judgement_id, reply.hidden_judgement_id)),
                item.judgement_id,
            )
            if pk is not None and pk not in self._judgements
        )
        stored = Judgement.objects.select_related("submission__problem").defer(
            "submission__problem__statement", "submission__problem__statement_html",
            "submission__problem__analysis", "submission__problem__analysis_html",
        )  # fmt: skip
        rows = stored.in_bulk(list(named))
        while former := {row.replaces_id for row in rows.values() if row.replaces_id} - rows.keys():
            rows |= stored.in_bulk(list(former))
        for pk in named:
            self._write_judgement(rows[pk], rows)

    def _write_judgement(self, row: Judgement, rows: Mapping[int, Judgement]) -> None:
        """Write a judgement after those that it replaces, and its submission."""
        if row.replaces_id:
            self._write_judgement(rows[row.replaces_id], rows)
        if row.submission_id not in self._submissions:
            program = SubmissionRecord(
                problem=row.submission.problem.external_id,
                **_columns(row.submission, SubmissionRecord, "problem"),
            )
            self._submissions[row.submission_id] = self._write("submissions.jsonl", program)
        self._judgements[row.pk] = self._write("judgements.jsonl", self._judgement(row))

    def _judgement(self, row: Judgement) -> JudgementRecord:
        if row.state not in (Judgement.State.DONE, Judgement.State.FAILED):
            raise CannotExportError(
                f"Run {self._run.pk}: a program for {row.submission.problem} is still judged. Resume the run first."
            )
        return JudgementRecord(
            submission=self._submissions[row.submission_id],
            result=_without_hidden_texts(row.result),
            replaces=self._judgements[row.replaces_id] if row.replaces_id else None,
            **_columns(row, JudgementRecord, "submission", "result", "replaces"),
        )

    def _item(self, item: WorkItem, replies: Sequence[Generation]) -> ItemRecord:
        steps = {reply.pk: reply.step for reply in replies}
        state = WorkItem.State.PENDING if item.state == WorkItem.State.LEASED else item.state
        return ItemRecord.model_validate(
            {
                "problem": item.problem.external_id,
                "chain": item.chain,
                "state": str(state),
                "fault": self._secrets.masked(item.fault),
                "permanent": item.permanent,
                "selected": steps[item.selected_id] if item.selected_id else None,
                "judgement": self._judgements.get(item.judgement_id or 0),
            }
        )

    def _generation(self, row: Generation, item: int) -> GenerationRecord:
        return GenerationRecord(
            item=item,
            sample_judgement=self._judgements.get(row.sample_judgement_id or 0),
            hidden_judgement=self._judgements.get(row.hidden_judgement_id or 0),
            reused=self._targets[row.reused_id] if row.reused_id else None,
            **_columns(row, GenerationRecord, "item", "sample_judgement", "hidden_judgement", "reused"),
        )

    def _read_targets(self, keys: Sequence[int]) -> None:
        """Find the run, the line and the step of the paid replies with these keys."""
        self._targets = {}
        rows = Generation.objects.filter(pk__in=keys).values_list("pk", "work_item", "work_item__run", "step")
        for pk, item, run, step in rows:
            self._targets[pk] = ReusedRecord(run=run, item=self._line_of(run, item), step=step)

    def _line_of(self, run: UUID, item: int) -> int:
        """Return the line of a work item of any exported run."""
        if run not in self._lines:
            items = ordered_items(Run.objects.get(pk=run))
            self._lines[run] = {pk: line for line, (_, _, pk) in enumerate(items, 1)}
        return self._lines[run][item]


def _columns(row: object, kind: type[Record], *without: str) -> dict[str, Any]:
    """Return the columns of a row that its record has too."""
    return {name: getattr(row, name) for name in kind.model_fields if name not in without}


def _without_hidden_texts(result: Mapping[str, Any] | None) -> JudgementResult | None:
    """Return the result of a judgement with blank texts in the results of hidden tests."""
    if result is None:
        return None
    blank = dict.fromkeys(_HIDDEN_TEXTS, "")
    tests = [test if test["sample"] else test | blank for test in result.get("tests", ())]
    return JudgementResult.model_validate({**result, "tests": tests})


def run_record(run: Run, secrets: SecretFilter, site: str) -> RunRecord:
    """Return the record of a run. The source of an imported run stays the site that executed it."""
    commit = ((run.manifest.get("environment") or {}).get("git") or {}).get("commit", "")
    source = run.source or {"site": site, "version": commit}
    without = ("source", "dataset", "model", "stop_reason", "tutor")
    return RunRecord(
        source=SourceRecord(site=source["site"], version=source["version"]),
        dataset=DatasetRecord(name=run.dataset.known_as or run.dataset.name, format=run.dataset.format),
        model=_model_record(run.model),
        tutor=_tutor_record(run),
        stop_reason=secrets.masked(run.stop_reason),
        **_columns(run, RunRecord, *without),
    )


def _tutor_record(run: Run) -> TutorRecord | None:
    tutor = RunTutor.objects.select_related("model").filter(run=run).first()
    if tutor is None:
        return None
    return TutorRecord(
        model=ModelRecord(**_columns(tutor.model, ModelRecord)), **_columns(tutor, TutorRecord, "model")
    )


def _model_record(model: LanguageModel | None) -> ModelRecord | None:
    return None if model is None else ModelRecord(**_columns(model, ModelRecord))
