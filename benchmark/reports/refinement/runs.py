"""The chains of runs of the method refine, and their comparison with independent attempts of another run."""

from collections import defaultdict
from typing import Any

from django.db.models import Count, Q, Sum

from benchmark.methods import scoring_of
from benchmark.models import Generation, Run, WorkItem
from benchmark.reports.refinement.curves import (
    Refinement,
    Resampling,
    ResamplingComparison,
    resampling_comparison,
)
from judge import Verdict


class NotRefineRunError(ValueError):
    """A run of a method that the figure is not defined for."""


def attempts_allowed(run: Run) -> int:
    """Return K, the maximum number of attempts in one start of a chain."""
    return int(run.parameters["k"])


def refinements_of(run: Run, *, failures: str = "wrong", restarts: bool = True) -> list[Refinement]:
    """Return the finished chains of a run. Raises NotRefineRunError for a run of another method.

    Chains that failed permanently are not accepted with `failures="wrong"` and left out with "excluded". Without
    `restarts` only the first start of a chain is read.
    """
    if scoring_of(run.method) != "refine":
        raise NotRefineRunError(f"run {run.pk} is a run of {run.method}; a curve needs a run of refine")
    return list(chains_of(run, permanent=failures == "wrong", restarts=restarts).values())


def chains_of(run: Run, *, permanent: bool = True, restarts: bool = True) -> dict[int, Refinement]:
    """Return the finished chains of a refine run by the key of their item.

    `permanent` includes chains that failed permanently. Without `restarts` only the first start of a chain is read.
    """
    ended = Q(state=WorkItem.State.DONE)
    if permanent:
        ended |= Q(permanent=True)
    names = dict(run.items.filter(ended).values_list("pk", "problem__external_id"))
    starts: dict[int, list[list[tuple[str | None, int | None]]]] = defaultdict(list)
    rows = Generation.objects.filter(work_item__run=run).order_by("work_item_id", "step")
    for item, purpose, verdict, given, made in rows.values_list(
        "work_item_id", "purpose", "hidden_judgement__verdict", "input_tokens", "output_tokens"
    ):
        if purpose == Generation.Purpose.SOLVE or not starts[item]:
            starts[item].append([])
        starts[item][-1].append((verdict, None if given is None or made is None else given + made))
    return {
        item: _refinement(name, starts[item] if restarts else starts[item][:1])
        for item, name in names.items()
    }


def _refinement(name: str, starts: list[list[tuple[str | None, int | None]]]) -> Refinement:
    attempts = [attempt for start in starts for attempt in start]
    accepted = next((place for place, (verdict, _) in enumerate(attempts, 1) if verdict == Verdict.AC), None)
    tokens = [count for _, count in attempts if count is not None]
    return Refinement(
        name,
        len(attempts),
        accepted,
        sum(tokens) if len(tokens) == len(attempts) else None,
        len(starts[0]) if len(starts) > 1 else None,
    )


def differing_settings(run: Run, other: Run) -> list[str]:
    """Return the settings that both methods have and that differ between the runs, with both values."""
    return [
        f"{name}: {run.parameters[name]} and {other.parameters[name]}"
        for name in _OF_BOTH
        if name in run.parameters
        and name in other.parameters
        and run.parameters[name] != other.parameters[name]
    ]


_OF_BOTH = (
    "language",
    "policy",
    "tests",
    "memory_unit",
    "extraction",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
)
"""The settings that change programs or verdicts of an independent attempt."""


def compare_with_resampling(run: Run, other: Run, *, failures: str = "wrong") -> ResamplingComparison:
    """Compare Refine@K of a run with pass@K of another run, which needs at least K attempts per problem.

    Only first starts of chains count. Raises NotRefineRunError, TooFewAttemptsError, and ValueError for runs without a
    common problem.
    """
    if scoring_of(other.method) != "pass" or other.dataset_id != run.dataset_id:
        raise NotRefineRunError(
            f"run {other.pk} cannot be compared: it must have independent attempts on the same dataset"
        )
    ended = Q(state=WorkItem.State.DONE)
    if failures == "wrong":
        ended |= Q(permanent=True)
    attempts: dict[str, list[tuple[bool, int | None]]] = defaultdict(list)
    rows: Any = (
        other.items.filter(ended)
        .order_by()
        .annotate(
            replies=Count("generations"),
            known=Count(
                "generations",
                filter=Q(generations__input_tokens__isnull=False, generations__output_tokens__isnull=False),
            ),
            given=Sum("generations__input_tokens", default=0),
            made=Sum("generations__output_tokens", default=0),
        )
    )
    for name, verdict, replies, known, given, made in rows.values_list(
        "problem__external_id", "judgement__verdict", "replies", "known", "given", "made"
    ):
        attempts[name].append((verdict == Verdict.AC, given + made if known == replies else None))
    resampled = {}
    for name, tried in attempts.items():
        counts = [count for _, count in tried if count is not None]
        mean = sum(counts) / len(counts) if len(counts) == len(tried) else None
        resampled[name] = Resampling(len(tried), sum(accepted for accepted, _ in tried), mean)
    return resampling_comparison(
        refinements_of(run, failures=failures, restarts=False), resampled, attempts_allowed(run)
    )
