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

__all__ = [
    "SIGNIFICANCE",
    "Interval",
    "PairedDifference",
    "TooFewAttempts",
    "cluster_bootstrap",
    "holm",
    "mcnemar",
    "mean_pass_at_k",
    "overlap",
    "paired_difference",
    "pass_at_k",
    "problems_needed",
    "share_at_k",
    "standard_error",
    "visible_difference",
    "wilson",
]
