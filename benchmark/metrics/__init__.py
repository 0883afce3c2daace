"""Figures of the benchmark: estimators and the intervals that belong to them."""

from benchmark.metrics.intervals import Interval, cluster_bootstrap, wilson
from benchmark.metrics.pass_at_k import TooFewAttempts, mean_pass_at_k, pass_at_k

__all__ = ["Interval", "TooFewAttempts", "cluster_bootstrap", "mean_pass_at_k", "pass_at_k", "wilson"]
