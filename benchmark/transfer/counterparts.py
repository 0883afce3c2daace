"""The rows of this site for the problems, the dataset and the model of an imported run."""

from collections.abc import Sequence

from django.utils import timezone

from benchmark.models import Dataset, LanguageModel, Problem
from benchmark.transfer.records import ModelRecord, ProblemRecord, RunRecord


def problem_keys(record: RunRecord, problems: Sequence[ProblemRecord]) -> dict[str, Problem]:
    """Return the rows of the run's problems by id: those of this site, or else those of a dataset created for them."""
    dataset = local_dataset(record, problems)
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


def local_dataset(record: RunRecord, problems: Sequence[ProblemRecord]) -> Dataset:
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


def local_model(record: ModelRecord) -> LanguageModel:
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
