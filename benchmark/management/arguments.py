"""Parsers of arguments that several commands share."""

import math
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from benchmark.models import Corpus, Dataset, Problem, QuestionSet, Run, SimilarityRun, Suite


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
    try:
        return Dataset.objects.get(name=name)
    except Dataset.DoesNotExist:
        names = ", ".join(Dataset.objects.values_list("name", flat=True))
        there_are = (
            f"There are: {names}." if names else "There is none yet; `manage.py import_problems` makes one."
        )
        raise CommandError(f"There is no dataset {name!r}. {there_are}") from None


def find_corpus(name: str) -> Corpus:
    """Return the textbook of that name. Raises CommandError with the existing names."""
    try:
        return Corpus.objects.get(name=name)
    except Corpus.DoesNotExist:
        names = ", ".join(Corpus.objects.values_list("name", flat=True))
        there_are = (
            f"There are: {names}." if names else "There is none yet; `manage.py import_corpus` makes one."
        )
        raise CommandError(f"There is no corpus {name!r}. {there_are}") from None


def find_problem(dataset: Dataset, external_id: str) -> Problem:
    """Return the problem of that id. Raises CommandError with similar ids."""
    try:
        return dataset.problems.get(external_id=external_id)
    except Problem.DoesNotExist:
        known = dataset.problems.values_list("external_id", flat=True)
        near = get_close_matches(external_id, known, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise CommandError(f"{dataset.name} has no problem {external_id!r}.{hint}") from None


def find_problems(names: Sequence[str]) -> list[Problem]:
    """Return the problems named as DATASET/ID, or as DATASET for all of it, in this order and each once.

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
            raise CommandError(f"{dataset.name} has no problems. `manage.py import_problems` brings them in.")
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
    """Return the run of that id. Raises CommandError with the latest runs."""
    try:
        return Run.objects.select_related("dataset").get(pk=UUID(name))
    except (ValueError, Run.DoesNotExist):
        latest = "".join(f"\n  {run.pk}  {run}" for run in Run.objects.select_related("dataset")[:5])
        raise CommandError(f"There is no run {name!r}. The latest runs: {latest or 'none yet'}") from None


def find_question_set(name: str) -> QuestionSet:
    """Return the questions of that name. Raises CommandError with the existing names."""
    try:
        return QuestionSet.objects.select_related("dataset").get(name=name)
    except QuestionSet.DoesNotExist:
        names = ", ".join(QuestionSet.objects.values_list("name", flat=True))
        there_are = (
            f"There are: {names}." if names else "There are none yet; `manage.py build_mcqs` makes some."
        )
        raise CommandError(f"There are no questions {name!r}. {there_are}") from None


def find_similarity_run(name: str) -> SimilarityRun:
    """Return the run over questions of that id. Raises CommandError with the latest runs."""
    try:
        return SimilarityRun.objects.select_related("question_set__dataset").get(pk=UUID(name))
    except (ValueError, SimilarityRun.DoesNotExist):
        rows = SimilarityRun.objects.select_related("question_set")[:5]
        latest = "".join(f"\n  {run.pk}  {run}" for run in rows)
        raise CommandError(f"There is no run {name!r}. The latest runs: {latest or 'none yet'}") from None
