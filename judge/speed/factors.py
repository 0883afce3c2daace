"""Time factors: the measured speed of a machine in coarse steps, which chance does not change."""

import math

STEP = 1.25
"""Ratio of two neighbouring factors."""

_LARGEST_STEP = 6

LARGEST_FACTOR = STEP**_LARGEST_STEP
"""3.81. On a machine that is slower than this, limits are too short."""

_KEPT = 0.75
"""Steps by which a measurement may differ from the last factor without changing it; rounding alone allows 0.5."""


def quantized_factor(measured: float, last: float | None = None) -> float:
    """Return the time factor, from 1 to LARGEST_FACTOR, of a machine that needs `measured` times the reference time.

    The factor is the power of STEP nearest to the measurement. `last` is the factor of this machine so far: it is kept
    while the measurement is nearer than `_KEPT` steps. The factor is never below 1, because a statement promises its
    limit on every machine.
    """
    steps = math.log(measured, STEP)
    if last is not None and abs(steps - math.log(last, STEP)) <= _KEPT:
        return last
    return float(STEP ** min(max(round(steps), 0), _LARGEST_STEP))
