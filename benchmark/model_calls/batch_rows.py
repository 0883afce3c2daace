"""What is stored of batches, so that a process which comes later waits for the same ones."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from benchmark.models import Batch, BatchedQuestion, Run

_AT_ONCE = 1000
"""Rows in one statement."""


def begin(run: Run, batch_id: UUID, names: Collection[str]) -> Batch:
    """A batch of these questions that the provider is about to be asked for. To be called in a transaction."""
    batch = Batch.objects.create(pk=batch_id, run=run, questions=len(names))
    BatchedQuestion.objects.bulk_create(
        [BatchedQuestion(batch=batch, name=name) for name in names], batch_size=_AT_ONCE
    )
    return batch


def forget(batch: Batch) -> None:
    """The provider never made it."""
    Batch.objects.filter(pk=batch.pk).delete()


def all_made(made: list[tuple[Batch, str]]) -> list[None]:
    """The provider made these batches under these names. To be called in a transaction."""
    for batch, provider_id in made:
        batch.provider_id = provider_id
        batch.save(update_fields=["provider_id"])
    return [None] * len(made)


def advance(batch: Batch) -> None:
    """Store how far it is."""
    batch.save(update_fields=["answered", "ended_at"])


def add_faults(batch: Batch, faults: Mapping[str, str] | str) -> None:
    """These questions of the batch, or all of them, have no reply; whoever asks them again asks anew."""
    if isinstance(faults, str):
        batch.rows.filter(fault="").update(fault=faults)
        return
    failed = [row for row in batch.rows.filter(fault="") if row.name in faults] if faults else []
    for row in failed:
        row.fault = faults[row.name]
    BatchedQuestion.objects.bulk_update(failed, ["fault"], batch_size=_AT_ONCE)


def names(batch: Batch) -> set[str]:
    """The questions of the batch."""
    return set(batch.rows.values_list("name", flat=True))


def known_ids() -> set[str]:
    """The provider's names of all batches that have one."""
    return set(Batch.objects.exclude(provider_id="").values_list("provider_id", flat=True))


def holding(questions: list[tuple[UUID, str]]) -> Sequence[Batch | None]:
    """For each question of one run the batch with its reply, now or later; None: it has to be asked."""
    run_id = questions[0][0]
    rows = BatchedQuestion.objects.filter(
        name__in=[name for _, name in questions], batch__run=run_id, fault=""
    )
    found = {row.name: row.batch for row in rows.select_related("batch").order_by("pk")}
    return [found.get(name) for _, name in questions]
