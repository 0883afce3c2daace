"""Metrics of a whole run. Every format of a report and the page of the run show all of `RUN_METRICS`.

To add one, write its estimator in `benchmark/metrics/` and register a function here with `@run_metric`. Background jobs
then measure the stored figures of all runs again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from benchmark.reports.groups import ChainOutcome, ScoreRules

Outcomes = Mapping[int, Mapping[int, ChainOutcome]]
"""The outcomes of all ended chains by problem and number of the chain."""

Compute = Callable[[Outcomes, ScoreRules], float | None]
"""A function that returns the value of a metric; None if it is not defined for the run."""


@dataclass(frozen=True)
class RunMetric:
    """A metric: its key in JSON and CSV, its title for people, and how its value is written."""

    name: str
    title: str
    compute: Compute
    format_value: Callable[[float], str]


RUN_METRICS: dict[str, RunMetric] = {}


def run_metric(
    name: str, title: str, format_value: Callable[[float], str] = "{:.2f}".format
) -> Callable[[Compute], Compute]:
    """Return a decorator that registers a metric. Raises ValueError for a name that is taken."""

    def register(compute: Compute) -> Compute:
        if name in RUN_METRICS:
            raise ValueError(f"the metric {name} is registered twice")
        RUN_METRICS[name] = RunMetric(name, title, compute, format_value)
        return compute

    return register


def measure_metrics(outcomes: Outcomes, rules: ScoreRules) -> dict[str, float]:
    """Return the values of the metrics that are defined for the run, by name."""
    values = {name: metric.compute(outcomes, rules) for name, metric in RUN_METRICS.items()}
    return {name: value for name, value in values.items() if value is not None}


def format_metrics(values: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the titles and the formatted values of the metrics."""
    return [
        (RUN_METRICS[name].title, RUN_METRICS[name].format_value(value)) for name, value in values.items()
    ]


@run_metric("attempts_per_solved", "attempts per solved chain")
def attempts_per_solved(outcomes: Outcomes, rules: ScoreRules) -> float | None:
    """Return the mean number of attempts in the solved chains of a refine run (docs/spec.md 0.1)."""
    if rules.scoring != "refine":
        return None
    solved = [one.attempts for chains in outcomes.values() for one in chains.values() if one.accepted]
    return fmean(solved) if solved else None
