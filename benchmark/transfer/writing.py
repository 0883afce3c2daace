"""The rows of imported runs."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar
from uuid import UUID

from django.db import connection
from django.utils import timezone

from benchmark.model_calls.inserts import insert_generations
from benchmark.models import Generation, Judgement, Run, RunTutor, Submission, WorkItem
from benchmark.runner.draws import reserve_draws
from benchmark.transfer.checking import CheckedRun, FolderReader, Progress, Target, refuse_if, wanted_of
from benchmark.transfer.counterparts import local_dataset, local_model, problem_keys
from benchmark.transfer.exporting import ordered_items
from benchmark.transfer.records import (
    GenerationRecord,
    ItemRecord,
    JudgementRecord,
    Record,
    RunRecord,
    SubmissionRecord,
    TutorRecord,
)

ROWS_AT_ONCE = 200

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class RunImport:
    """The rows of one run."""

    def __init__(
        self, reader: FolderReader, checked: CheckedRun, wanted: set[Target], progress: Progress
    ) -> None:
        self._reader = reader
        self._checked = checked
        self._wanted = wanted
        self._progress = progress

    def write(self, replies: dict[UUID, dict[Target, int]]) -> Run:
        """Write the run; add the keys of the wanted replies to `replies`."""
        record = self._checked.record
        self._problems = problem_keys(record, self._checked.problems)
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
            if name not in ("source", "dataset", "model", "started_at", "tutor")
        }
        problem = next(iter(self._problems.values()), None)
        dataset = problem.dataset if problem else local_dataset(record, ())
        source = record.source.to_json() | {
            "content_hash": self._checked.hash,
            "imported_at": timezone.now().isoformat(timespec="seconds"),
        }
        model = local_model(record.model) if record.model else None
        run = Run.objects.create(**columns, dataset=dataset, model=model, source=source)
        Run.objects.filter(pk=run.pk).update(started_at=record.started_at)
        if record.tutor:
            usage = {
                name: getattr(record.tutor, name) for name in TutorRecord.model_fields if name != "model"
            }
            RunTutor.objects.create(run=run, model=local_model(record.tutor.model), **usage)
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
        without = ("submission", "result", "replaces")
        columns = [name for name in JudgementRecord.model_fields if name not in without]
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
            former = {}
            for row, one in zip(rows, batch, strict=True):
                if one.replaces is not None:
                    row.replaces_id = former[row.pk] = keys[one.replaces - 1]
            Judgement.objects.bulk_update([row for row in rows if row.pk in former], ["replaces"])
            Judgement.objects.filter(pk__in=list(former.values())).update(counts=False)
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


def link_repeated(
    reader: FolderReader,
    checked: CheckedRun,
    replies: dict[UUID, dict[Target, int]],
    runs: Sequence[CheckedRun],
) -> None:
    """Set `reused` of the replies of a new run that repeat a paid reply."""
    if not checked.wanted:
        return
    for run in runs:
        if run.stored and run.record.id not in replies:
            replies[run.record.id] = _stored_replies(run.stored, wanted_of(run.record.id, runs))
    name = checked.record.id
    items = [pk for _, _, pk in ordered_items(Run.objects.get(pk=name))]
    records = (record for _, record in reader.records(name, "generations.jsonl", GenerationRecord))
    for batch in _batched(records):
        links = []
        for one in batch:
            if one.reused is None:
                continue
            other, target = one.reused.run, (one.reused.item, one.reused.step)
            refuse_if(
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
