"""Runs the batch driver again with a different set order, clock and time zone.

Runs in the sandbox as main.py next to the batch driver (hintbench_batch.py). The system seeds the random module in both
runs. Python 3.8 or newer.
"""

from __future__ import annotations

import os
import sys
import time

HASH_SEED = "20011"
CLOCK_SHIFT = 400 * 86_400 + 12_345
"""Seconds."""


def main() -> None:
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:  # the interpreter reads it at its start
        os.environ.update(PYTHONHASHSEED=HASH_SEED, TZ="LATER-13")
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])  # noqa: S606
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + CLOCK_SHIFT
    time.time_ns = lambda: nanoseconds() + CLOCK_SHIFT * 10**9
    import hintbench_batch  # noqa: F401


main()
