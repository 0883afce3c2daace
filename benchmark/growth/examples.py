"""An example of a measured growth, for estimates and descriptions."""

from benchmark.growth.fitting import Fit, Point
from benchmark.growth.measuring import Growth, MeasuredSeries

_SIZES = tuple(16 * 2**step for step in range(10))

QUADRATIC = Growth(
    (
        MeasuredSeries(
            "n",
            100_000,
            tuple(Point(size, (0.01 + 1e-8 * size**2,) * 3) for size in _SIZES),
            "fitted",
            Fit(2.0, 1.9, 2.1, -18.4, 0.02, _SIZES[-5:]),
            100.0,
        ),
    ),
    time_limit=2.0,
    memory_limit=256 * 2**20,
)
"""The growth of a program that needs 100 s at its bound, under a limit of 2 s."""
