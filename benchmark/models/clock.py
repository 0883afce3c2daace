"""Jumps of the wall clock of this host. Leases compare times of several processes, so a jump would end them all."""

import threading
import time
from datetime import timedelta

JUMP = 1.0
"""Seconds of deviation from the monotonic clock above which the wall clock has jumped. NTP corrects more slowly."""

SETTLING = 7.0
"""Seconds after the detection of a jump within which every owner of a lease has renewed it by the new time."""

LONGEST_LEAD = timedelta(seconds=60)
"""How much further in the future than its length a lease may end: clocks of hosts differ a little. A lease that ends
later was written before a clock was set back."""


class ClockMonitor:
    """The comparison of the wall clock with the monotonic clock, from one call to the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset: float | None = None
        self._steady_from = 0.0

    def is_steady(self) -> bool:
        """Return False for SETTLING seconds after a jump of the wall clock, or after the host was suspended."""
        monotonic = time.monotonic()
        offset = time.time() - monotonic
        with self._lock:
            if self._offset is not None and abs(offset - self._offset) > JUMP:
                self._steady_from = monotonic + SETTLING
            self._offset = offset
            return monotonic >= self._steady_from


clock_monitor = ClockMonitor()
"""The monitor of this process."""
