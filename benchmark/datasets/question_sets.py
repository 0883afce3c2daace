"""Storage of question sets. Options are shuffled once, with a seed that the set stores."""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction

from benchmark.datasets.records import QuestionRecord
from benchmark.models import Dataset, Option, Question, QuestionSet

LETTERS = "ABCD"
OPTIONS = len(LETTERS)
IMPORT_SEED = 402
"""The seed for options of imported questions, whose sources list the correct option first."""


class QuestionsInUseError(Exception):
    """A question set that cannot be replaced, because runs refer to its questions."""


def import_question_set(dataset: Dataset, records: Sequence[QuestionRecord]) -> QuestionSet:
    """Store the questions of a dataset under the dataset's name.

    Questions about problems that the dataset does not contain are skipped with the reason. Raises QuestionsInUseError.
    """
    known = set(dataset.problems.values_list("external_id", flat=True))
    kept, skipped = [], []
    for number, record in enumerate(records, 1):
        ids = (record.reference, record.positive, *record.negatives)
        missing = [name for name in ids if name not in known]
        if missing:
            reason = f"the dataset has no problem {', '.join(missing)}"
            skipped.append({"id": f"question {number}", "reason": reason})
        elif len(set(ids)) != len(ids):
            skipped.append({"id": f"question {number}", "reason": "it names a problem twice"})
        else:
            kept.append(record)
    return write_question_set(
        dataset.name, dataset, kept, seed=IMPORT_SEED, built=False, parameters={}, skipped=skipped
    )


@transaction.atomic
def write_question_set(
    name: str,
    dataset: Dataset,
    records: Iterable[QuestionRecord],
    *,
    seed: int,
    built: bool,
    parameters: dict[str, Any],
    skipped: list[dict[str, str]],
) -> QuestionSet:
    """Store the questions under the name. Identical questions change nothing. Raises QuestionsInUseError."""
    shuffler = random.Random(seed)  # noqa: S311 (a reproducible order, not a secret)
    questions = []
    for record in records:
        options = [record.positive, *record.negatives]
        shuffler.shuffle(options)
        questions.append((record, options))
    content_hash = hashlib.sha256(
        json.dumps([[record.reference, record.positive, *options] for record, options in questions]).encode()
    ).hexdigest()
    columns = {
        "dataset": dataset,
        "built": built,
        "parameters": parameters | {"seed": seed},
        "skipped": skipped,
        "content_hash": content_hash,
    }
    stored = QuestionSet.objects.filter(name=name).first()
    if stored is not None and (stored.content_hash, stored.dataset_id) == (content_hash, dataset.pk):
        QuestionSet.objects.filter(pk=stored.pk).update(**columns)
        stored.refresh_from_db()
        return stored
    if stored is not None:
        if stored.runs.exists():
            raise QuestionsInUseError(
                f"the question set {name} differs from the stored one, which runs have answered; choose another name"
            )
        stored.delete()
    return _write(QuestionSet.objects.create(name=name, **columns), questions)


def _write(question_set: QuestionSet, questions: list[tuple[QuestionRecord, list[str]]]) -> QuestionSet:
    problems = dict(question_set.dataset.problems.values_list("external_id", "pk"))
    rows = Question.objects.bulk_create(
        Question(question_set=question_set, number=number, reference_id=problems[record.reference])
        for number, (record, _) in enumerate(questions, 1)
    )
    Option.objects.bulk_create(
        Option(
            question=row,
            place=place,
            problem_id=problems[external_id],
            similar=external_id == record.positive,
        )
        for row, (record, options) in zip(rows, questions, strict=True)
        for place, external_id in enumerate(options)
    )
    return question_set
