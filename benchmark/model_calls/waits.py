"""Waits before calls are repeated, with a message to the user and an end at a stop."""

import time
from collections.abc import Callable

from benchmark.model_calls.stopping import Stop
from benchmark.providers import ProviderError, RetryPolicy

_SHORTEST_REPORTED = 1.0
"""Seconds; shorter waits are not reported."""


class RetryWaits:
    """The waits of a process before calls are repeated; one message reports all simultaneous waits."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._line = ""
        self._until = 0.0

    @property
    def line(self) -> str:
        """The message about the current waits; blank when no call waits."""
        return self._line if time.monotonic() < self._until else ""

    def policy(self, stop: Stop) -> RetryPolicy:
        """Return the default retry policy, with waits that are reported and that a stop ends."""
        return RetryPolicy(announce=self._announce, sleep=stop.sleep)

    def _announce(self, seconds: float, error: ProviderError) -> None:
        if seconds < _SHORTEST_REPORTED or self.line:
            return
        self._until = time.monotonic() + seconds
        self._line = f"Waiting {seconds:,.0f} seconds before calls are repeated: {error.message}"
        self._report(self._line)
