"""The variance between the draws of a run: its epochs, and replies that repeat those of other runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from benchmark.models import Generation, Run
from benchmark.reports.groups import ChainOutcome, ScoreRules, score


@dataclass(frozen=True)
class BetweenEpochs:
    """The figure for k of each epoch, over the `problems` that have it in every epoch.

    `standard_error` is that of the mean of the epochs (see `epoch_standard_error`).
    """

    k: int
    problems: int
    values: tuple[float, ...]
    standard_error: float | None


def epoch_standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of independent epochs; None with fewer than two.

    s / sqrt(E) for E epochs, with s² = Σ (x − mean)² / (E − 1): type A evaluation of standard uncertainty, JCGM
    100:2008 (GUM), 4.2.2 and 4.2.3. It measures the variance of the model's replies on these problems, not the
    variance over the choice of problems.
    """
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else None


def between_epochs(
    run: Run, rules: ScoreRules, by_chain: Mapping[int, Mapping[int, ChainOutcome]]
) -> tuple[BetweenEpochs, ...]:
    """Return the figures for each k that one epoch has enough attempts for; none for a run of one epoch.

    `by_chain` holds the outcomes of each problem by the number of the chain.
    """
    if run.epochs == 1 or rules.scoring == "none":
        return ()
    epochs = [
        [_of_epoch(run, epoch, chains, rules) for epoch in range(run.epochs)] for chains in by_chain.values()
    ]
    ks = [k for k in rules.ks if rules.scoring == "refine" or k <= run.attempts_per_epoch]
    return tuple(_between(k, epochs, rules) for k in ks)


def _of_epoch(
    run: Run, epoch: int, chains: Mapping[int, ChainOutcome], rules: ScoreRules
) -> list[ChainOutcome]:
    return [
        outcome
        for chain, outcome in chains.items()
        if chain // run.attempts_per_epoch == epoch
        and not (outcome.permanent and rules.failures == "excluded")
    ]


def _between(
    k: int, problems: Sequence[Sequence[Sequence[ChainOutcome]]], rules: ScoreRules
) -> BetweenEpochs:
    scores = [[score(outcomes, k, rules) for outcomes in epochs] for epochs in problems]
    complete = [values for values in scores if None not in values]
    if not complete:
        return BetweenEpochs(k, 0, (), None)
    means = tuple(
        fmean(value for value in values if value is not None) for values in zip(*complete, strict=True)
    )
    return BetweenEpochs(k, len(complete), means, epoch_standard_error(means))


def count_repeated(run: Run) -> int:
    """Return the number of replies of the run that repeat a paid reply of another run."""
    repeated = Generation.objects.filter(work_item__run=run, reused__isnull=False)
    return repeated.exclude(reused__work_item__run=run).count()


def replay_note(repeated: int, replies: int) -> str:
    """Return the sentence about repeated replies in a report; blank without any."""
    if not repeated:
        return ""
    if repeated == replies:
        return (
            f"Replay: all {replies:,} replies repeat stored ones. The variance between this run and the original is "
            "zero by construction; --draws fresh requests new replies."
        )
    return (
        f"{repeated:,} of {replies:,} replies repeat stored ones. For these the variance between this run and the "
        "original is zero by construction; --draws fresh requests new replies."
    )
