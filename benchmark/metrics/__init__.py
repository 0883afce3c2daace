"""Figures of the benchmark: estimators, the intervals that belong to them, and paired comparisons."""

from benchmark.metrics.comparison import (
    SIGNIFICANCE,
    PairedDifference,
    holm,
    mcnemar,
    overlap,
    paired_difference,
    problems_needed,
    visible_difference,
)
from benchmark.metrics.intervals import Interval, cluster_bootstrap, standard_error, wilson
from benchmark.metrics.pass_at_k import TooFewAttempts, mean_pass_at_k, pass_at_k, share_at_k
from benchmark.metrics.small_samples import (
    FEWEST_FOR_BOOTSTRAP,
    IntervalMethod,
    NamedInterval,
    Range,
    RatioSet,
    mean_interval,
    paired_proportions,
    problem_t,
    rate_interval,
    ratio_set,
    sign_e_value,
)

__all__ = [
    "FEWEST_FOR_BOOTSTRAP",
    "SIGNIFICANCE",
    "Interval",
    "IntervalMethod",
    "NamedInterval",
    "PairedDifference",
    "Range",
    "RatioSet",
    "TooFewAttempts",
    "cluster_bootstrap",
    "holm",
    "mcnemar",
    "mean_interval",
    "mean_pass_at_k",
    "overlap",
    "paired_difference",
    "paired_proportions",
    "pass_at_k",
    "problem_t",
    "problems_needed",
    "rate_interval",
    "ratio_set",
    "share_at_k",
    "sign_e_value",
    "standard_error",
    "visible_difference",
    "wilson",
]
