"""Waits before calls are repeated: announced, and ended by a stop."""

import time
from collections.abc import Callable

from benchmark.model_calls.stopping import Stop
from benchmark.providers import ProviderError, RetryPolicy

_SHORTEST_TOLD = 1.0
"""Seconds; shorter waits are not announced."""


class RetryWaits:
    """The waits of a process before calls are repeated. Those at the same time are announced by one line."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._line = ""
        self._until = 0.0

    @property
    def line(self) -> str:
        """What calls wait for now, in words; blank when none waits."""
        return self._line if time.monotonic() < self._until else ""

    def retry(self, stop: Stop) -> RetryPolicy:
        """Return the usual retries, whose waits are announced and end when a stop is asked for."""
        return RetryPolicy(announce=self._announce, sleep=stop.sleep)

    def _announce(self, seconds: float, error: ProviderError) -> None:
        if seconds < _SHORTEST_TOLD or self.line:
            return
        self._until = time.monotonic() + seconds
        self._line = f"Waiting {seconds:,.0f} seconds before calls are repeated: {error.message}"
        self._tell(self._line)
