"""The records of a comparison, and the JSON document of it."""

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.metrics import FEWEST_TESTED_PROBLEMS, Interval, RatioSet
from benchmark.reports.refinement.curves import ResamplingComparison


@dataclass(frozen=True)
class Divergence:
    """The step at which two chains at a problem diverge.

    `kind` is "prompt", "reply" (to the same prompt), "length" (one chain has more steps) or "same", with which `step`
    is None. Steps are numbered from 0.
    """

    problem: str
    kind: str
    step: int | None

    @property
    def words(self) -> str:
        """Return the place of the divergence in words. Steps are numbered from 1, as on the page of a chain."""
        if self.step is None:
            return "no difference"
        if self.kind == "length":
            return f"one chain ends after step {self.step}"
        return f"different {self.kind} at step {self.step + 1}"


@dataclass(frozen=True)
class RunPair:
    """The comparison of a run with the first one. Differences are this run minus the first, as shares of problems.

    `first_figure` and `figure` name the values, "pass@1" or "Refine@5". `first_curve` and `curve` are Refine@1 …
    Refine@K of a refine run over the compared problems. `resampling` compares a refine run with independent attempts,
    at equal attempts and at equal tokens; it is None for other pairs and for too few attempts. `rejected` counts
    attempts that failed permanently, `unpaired` the problems that only one run tried.

    `test` is "mcnemar" for one attempt per problem and run, otherwise "problem_t", the t test of all attempts. `holm`
    is its p adjusted for all runs compared with the first, and `inside_noise` is True if it shows no difference.
    `visible` is the difference that the test shows on these problems with a power of 80 %, `needed` the number of
    problems on which McNemar's test shows this difference; None for the t test, which has p = 1 and no `visible`
    difference for fewer than 6 problems. `interval_method` and `contest_interval_method` are a
    `benchmark.metrics.IntervalMethod` or "none".
    """

    run: str
    label: str
    problems: int
    first_figure: str
    figure: str
    first_curve: tuple[float, ...]
    curve: tuple[float, ...]
    resampling: ResamplingComparison | None
    rejected: dict[str, int]
    unpaired: dict[str, int]
    warnings: tuple[str, ...]
    first_value: float | None
    value: float | None
    difference: float | None
    standard_error: float | None
    interval: Interval | None
    interval_method: str
    contest_interval: Interval | None
    contest_interval_method: str
    only_first: tuple[str, ...]
    only_this: tuple[str, ...]
    test: str
    p: float
    holm: float
    inside_noise: bool
    visible: float | None
    needed: int | None
    transitions: dict[str, dict[str, int]]
    divergences: tuple[Divergence, ...]

    @property
    def divergence_counts(self) -> dict[str, int]:
        """Return how many chains diverge at each step, for the JSON document: "same", "prompt at step 0", …"""
        places = (
            one.kind if one.step is None else f"{one.kind} at step {one.step}" for one in self.divergences
        )
        return dict(sorted(Counter(places).items()))

    @property
    def diverging_problems(self) -> dict[str, list[str]]:
        """Return the problems of the chains that diverge at each step, in words; a problem once for each chain."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.divergences:
            found[one.words].append(one.problem)
        return dict(sorted(found.items()))

    @property
    def power_note(self) -> str:
        """Return the sentence on the power of a comparison that shows or tests no difference; blank for any other."""
        if self.test == "problem_t" and self.visible is None:
            return f"Not tested: the t test over problems needs {FEWEST_TESTED_PROBLEMS} problems."
        if not self.inside_noise or self.visible is None:
            return ""
        note = (
            f"Not significant: {self.problems} problems are enough for a difference of {100 * self.visible:.1f} points "
            "with a power of 80 %."
        )
        if self.needed:
            note += f" This difference requires about {self.needed:,} problems."
        return note


@dataclass(frozen=True)
class Overlap:
    """The share of problems newly solved by `run` that `other` newly solves too.

    A problem is newly solved if the first run does not solve it. `newly` is the number of those that `run` solves.
    """

    run: str
    other: str
    newly: int
    share: float | None


@dataclass(frozen=True)
class ShareOfBest:
    """The score of a run, and its gain over the first run, as shares of the best score and the largest gain.

    The best run has the highest score of all runs but the first; the problems are those that all runs tried.
    A share of nothing is None. The sets hold the ratios that a t test over problems does not reject; the best run has
    none, since its ratio to itself is 1. The USACO paper gives such shares for smaller corpora ("% of maximum", Table
    7) and does not say which of the two they are.
    """

    run: str
    of_score: float | None
    of_gain: float | None
    of_score_set: RatioSet | None
    of_gain_set: RatioSet | None


@dataclass(frozen=True)
class Comparison:
    """The comparison of runs with the first one.

    `failures` says whether attempts that failed permanently are "wrong" or "excluded". `shares_of_best` is empty for
    fewer than three runs, and without a problem that all of them tried.
    """

    failures: str
    first: str
    first_label: str
    pairs: tuple[RunPair, ...]
    overlaps: tuple[Overlap, ...]
    shares_of_best: tuple[ShareOfBest, ...]


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a JSON document."""
    document = asdict(comparison)
    document["parts_of_best"] = document.pop("shares_of_best")
    for pair, fields in zip(comparison.pairs, document["pairs"], strict=True):
        fields["caveats"] = fields.pop("warnings")
        fields["divergence_counts"] = pair.divergence_counts
        fields["power_note"] = pair.power_note
    return document
