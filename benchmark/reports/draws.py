"""What a run says about the variance between draws: its epochs, and the replies it repeats from other runs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from benchmark.metrics import pass_at_k
from benchmark.models import Generation, Run, WorkItem
from judge import Verdict


@dataclass(frozen=True)
class BetweenEpochs:
    """pass@k of each epoch alone, over the `problems` with at least k finished attempts in every epoch.

    `standard_error` is that of the mean of the epochs (see `epoch_standard_error`).
    """

    k: int
    problems: int
    values: tuple[float, ...]
    standard_error: float | None


def epoch_standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of independent epochs; None with fewer than two.

    s / sqrt(E) for E epochs, with s² = Σ (x − mean)² / (E − 1): type A evaluation of standard uncertainty, JCGM
    100:2008 (GUM), 4.2.2 and 4.2.3. It measures how much the model's replies vary on these problems, and not how much
    another choice of problems would change the figure.
    """
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else None


def between_epochs(run: Run, ks: Sequence[int]) -> tuple[BetweenEpochs, ...]:
    """Return the figures for each k that one epoch has attempts for; none for a run of one epoch."""
    if run.epochs == 1:
        return ()
    by_problem: dict[int, list[list[bool]]] = defaultdict(lambda: [[] for _ in range(run.epochs)])
    rows = run.items.filter(state=WorkItem.State.DONE).values_list(
        "problem_id", "chain", "judgement__verdict"
    )
    for problem, chain, verdict in rows:
        by_problem[problem][chain // run.attempts_per_epoch].append(verdict == Verdict.AC)
    problems = list(by_problem.values())
    return tuple(_between(k, problems, run.epochs) for k in ks if k <= run.attempts_per_epoch)


def _between(k: int, problems: Sequence[Sequence[Sequence[bool]]], epochs: int) -> BetweenEpochs:
    complete = [of_problem for of_problem in problems if all(len(attempts) >= k for attempts in of_problem)]
    if not complete:
        return BetweenEpochs(k, 0, (), None)
    values = tuple(
        fmean(pass_at_k(len(of_problem[epoch]), sum(of_problem[epoch]), k) for of_problem in complete)
        for epoch in range(epochs)
    )
    return BetweenEpochs(k, len(complete), values, epoch_standard_error(values))


def count_repeated(run: Run) -> int:
    """Return how many replies of the run repeat those that another run paid for."""
    repeated = Generation.objects.filter(work_item__run=run, reused__isnull=False)
    return repeated.exclude(reused__work_item__run=run).count()


def replay_note(repeated: int, replies: int) -> str:
    """Return the sentence that a report of a run with repeated replies needs; blank for a run without any."""
    if not repeated:
        return ""
    if repeated == replies:
        return (
            f"Replay: all {replies:,} replies repeat stored ones. The variance between this run and the original is "
            "zero by construction; --draws fresh asks for new replies."
        )
    return (
        f"{repeated:,} of {replies:,} replies repeat stored ones. For these the variance between this run and the "
        "original is zero by construction; --draws fresh asks for new replies."
    )
