"""Growth of the running time of programs, and slow programs as oracles (docs/slow-programs.md)."""

from benchmark.growth.comparing import Difference, compare, difference_of
from benchmark.growth.curves import (
    enqueue_curve,
    growth_of,
    limits_of,
    measured_curve,
    perform_curve,
    request_curve,
    requeue_lost_curves,
)
from benchmark.growth.measuring import Growth, GrowthError, MeasuredSeries
from benchmark.growth.sizes import NoSizesError, growth_recipe, has_sizes

__all__ = [
    "Difference",
    "Growth",
    "GrowthError",
    "MeasuredSeries",
    "NoSizesError",
    "compare",
    "difference_of",
    "enqueue_curve",
    "growth_of",
    "growth_recipe",
    "has_sizes",
    "limits_of",
    "measured_curve",
    "perform_curve",
    "request_curve",
    "requeue_lost_curves",
]
