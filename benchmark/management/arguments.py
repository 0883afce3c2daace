"""Parsers of arguments that several commands share."""

import math
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from typing import TypeVar

from django.core.management.base import CommandError, CommandParser
from django.db.models import Model, QuerySet

from benchmark.models import Corpus, Dataset, Problem, QuestionSet, Run, SimilarityRun, Suite

Named = TypeVar("Named", Dataset, Corpus, QuestionSet)
AnyRun = TypeVar("AnyRun", bound=Model)

_SHORTEST_ID = 4
"""Minimum number of characters of an id's beginning that a command accepts."""


def positive(text: str) -> int:
    """Return a whole number from 1, as the `type` of an argparse option."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def not_negative(text: str) -> int:
    """Return a whole number from 0, as the `type` of an argparse option."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def dollars(text: str) -> float:
    """Return a non-negative amount of US dollars, as the `type` of an argparse option."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number of dollars")
    return amount


def day(text: str) -> date:
    """Return a day, as the `type` of an argparse option."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day: write YYYY-MM-DD") from None


def add_failures(parser: CommandParser, default: str) -> None:
    """Add --failures, which sets how permanent failures count."""
    parser.add_argument(
        "--failures",
        choices=("wrong", "excluded"),
        help="how the headline counts items that the provider rejected (context overflow, refused prompt); reports "
        f"always give both figures; default: {default}",
    )


def find_dataset(name: str) -> Dataset:
    """Return the dataset of that name. Raises CommandError with the existing names."""
    return _find_by_name(Dataset.objects.all(), name, "dataset", "import_problems")


def find_corpus(name: str) -> Corpus:
    """Return the textbook of that name. Raises CommandError with the existing names."""
    return _find_by_name(Corpus.objects.all(), name, "corpus", "import_corpus")


def find_question_set(name: str) -> QuestionSet:
    """Return the question set of that name. Raises CommandError with the existing names."""
    return _find_by_name(QuestionSet.objects.select_related("dataset"), name, "question set", "build_mcqs")


def _find_by_name(rows: QuerySet[Named], name: str, kind: str, command: str) -> Named:
    """Return the row of that name; `kind` and `command`, which creates such rows, are for the error message."""
    row = rows.filter(name=name).first()
    if row is not None:
        return row
    names = ", ".join(rows.values_list("name", flat=True))
    hint = f"There are: {names}." if names else f"There is none yet; `manage.py {command}` makes one."
    raise CommandError(f"There is no {kind} {name!r}. {hint}")


def find_problem(dataset: Dataset, external_id: str) -> Problem:
    """Return the problem of that id. Raises CommandError with similar ids."""
    try:
        return dataset.problems.get(external_id=external_id)
    except Problem.DoesNotExist:
        known = dataset.problems.values_list("external_id", flat=True)
        near = get_close_matches(external_id, known, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise CommandError(f"{dataset.name} has no problem {external_id!r}.{hint}") from None


def listed_ids(ids: str | None) -> list[str]:
    """Return the ids of the option --problems ID,ID…; none without it."""
    return [name.strip() for name in (ids or "").split(",") if name.strip()]


def chosen_problems(dataset: Dataset, ids: str | None) -> list[Problem]:
    """Return each problem of the option --problems once; none without it. Raises CommandError for an unknown id."""
    return [find_problem(dataset, name) for name in dict.fromkeys(listed_ids(ids))]


def find_named_problem(name: str) -> Problem:
    """Return the problem that the option --problem names as DATASET/ID. Raises CommandError."""
    dataset, _, external_id = name.partition("/")
    if not external_id:
        raise CommandError(f"--problem takes DATASET/ID, such as usaco/{dataset}.")
    return find_problem(find_dataset(dataset), external_id)


def find_problems(names: Sequence[str]) -> list[Problem]:
    """Return the problems named as DATASET/ID, or as DATASET for all its problems, in this order and each once.

    Raises CommandError for an unknown name and for a dataset without problems.
    """
    found: dict[int, Problem] = {}
    for name in names:
        dataset_name, _, external_id = name.partition("/")
        dataset = find_dataset(dataset_name)
        if external_id:
            problems = [find_problem(dataset, external_id)]
        else:
            problems = list(dataset.problems.order_by("external_id"))
        if not problems:
            raise CommandError(f"{dataset.name} has no problems. `manage.py import_problems` imports them.")
        found |= {problem.pk: problem for problem in problems}
    return list(found.values())


def find_suite(problem: Problem, version: int | None) -> Suite:
    """Return the problem's suite of that version; None: the latest. Raises CommandError with the existing versions."""
    suites = problem.suites.exclude(content_hash="").order_by("-version")
    suite = suites.filter(version=version).first() if version else suites.first()
    if suite is None:
        there = ", ".join(str(one.version) for one in suites) or "none"
        raise CommandError(
            f"{problem} has no suite{f' {version}' if version else ''}; there is: {there}. "
            f"`manage.py build_suite {problem}` makes one."
        )
    return suite


def find_run(name: str) -> Run:
    """Return the run of that id, as `find_by_id` does."""
    return find_by_id(Run.objects.select_related("dataset", "model"), name)


def find_similarity_run(name: str) -> SimilarityRun:
    """Return the run over questions of that id, as `find_by_id` does."""
    return find_by_id(SimilarityRun.objects.select_related("question_set__dataset"), name)


def find_by_id(runs: QuerySet[AnyRun], name: str, noun: str = "run") -> AnyRun:
    """Return the run with this id, or the only one whose id begins with these characters, at least 4.

    Raises CommandError with similar ids and the latest runs.
    """
    found = list(runs.filter(pk__startswith=name.lower())[:2]) if len(name) >= _SHORTEST_ID else []
    if len(found) == 1:
        return found[0]
    near = get_close_matches(name, map(str, runs.values_list("pk", flat=True)), n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    latest = "".join(f"\n  {run.pk}  {run}" for run in runs[:5])
    there = f"Several {noun}s begin with" if found else f"There is no {noun}"
    raise CommandError(f"{there} {name!r}.{hint} The latest {noun}s: {latest or 'none yet'}")
