"""The rows of batches, with which a later process finds the batches of an earlier one and waits for them."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from benchmark.models import Batch, BatchedRequest, Run

_STATEMENT_ROWS = 1000
"""Rows in one statement."""


def create(run: Run, batch_id: UUID, names: Collection[str]) -> Batch:
    """Store a batch of these requests before the provider creates it. Must be called in a transaction."""
    batch = Batch.objects.create(pk=batch_id, run=run, requests=len(names))
    BatchedRequest.objects.bulk_create(
        [BatchedRequest(batch=batch, name=name) for name in names], batch_size=_STATEMENT_ROWS
    )
    return batch


def delete(batch: Batch) -> None:
    """Delete a batch that the provider never created."""
    Batch.objects.filter(pk=batch.pk).delete()


def store_provider_ids(created: list[tuple[Batch, str]]) -> list[None]:
    """Store the provider's ids of these batches. Must be called in a transaction."""
    for batch, provider_id in created:
        batch.provider_id = provider_id
        batch.save(update_fields=["provider_id"])
    return [None] * len(created)


def save_progress(batch: Batch) -> None:
    """Store the number of answered requests and the end of the batch."""
    batch.save(update_fields=["answered", "ended_at"])


def mark_failed(batch: Batch, faults: Mapping[str, str] | str) -> None:
    """Mark requests of the batch as unanswered, which makes the next run submit them again.

    `faults` maps names of requests to their faults; a text is the fault of all requests.
    """
    if isinstance(faults, str):
        batch.rows.filter(fault="").update(fault=faults)
        return
    failed = [row for row in batch.rows.filter(fault="") if row.name in faults] if faults else []
    for row in failed:
        row.fault = faults[row.name]
    BatchedRequest.objects.bulk_update(failed, ["fault"], batch_size=_STATEMENT_ROWS)


def request_names(batch: Batch) -> set[str]:
    """Return the names of the batch's requests."""
    return set(batch.rows.values_list("name", flat=True))


def provider_ids() -> set[str]:
    """Return the provider's ids of all batches that have one."""
    return set(Batch.objects.exclude(provider_id="").values_list("provider_id", flat=True))


def batches_of(requests: list[tuple[UUID, str]]) -> Sequence[Batch | None]:
    """Return for each (run, request name) the batch that has or will have its reply; None: it must be submitted.

    All requests are of one run.
    """
    run_id = requests[0][0]
    rows = BatchedRequest.objects.filter(name__in=[name for _, name in requests], batch__run=run_id, fault="")
    found = {row.name: row.batch for row in rows.select_related("batch").order_by("pk")}
    return [found.get(name) for _, name in requests]
