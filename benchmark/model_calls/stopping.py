"""Requests to stop a run, and the faults that cause them."""

import asyncio
import time

FATAL_KINDS = frozenset({"authentication", "configuration"})
"""Faults that every further call would repeat: the run stops instead of failing item by item."""

PERMANENT_KINDS = frozenset({"bad_request", "not_found"})
"""Faults that the same request would cause again: a context overflow, a refused prompt, an unknown model."""

USAGE_UNREPORTED = (
    "the provider does not say how many tokens a reply took: no budget of money or tokens can be kept"
)
"""The stop reason of a run with such a budget."""

_POLL_SECONDS = 0.2
"""Seconds between two checks for a stop during a wait."""


class StopRequestedError(Exception):
    """A stop was requested: no new call and no new judging begins."""


class Stop:
    """A stop request; `reason` is blank until the first request, whose reason it keeps.

    `final` says whether all processes of the run stop, not only this one. `cancels_waits` says whether calls that wait
    for the rate limit or to be repeated give up.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.final = True
        self.cancels_waits = False

    def request(self, reason: str, *, final: bool = True, cancels_waits: bool = True) -> None:
        """Prevent new calls; calls in flight are paid for and therefore completed."""
        self.cancels_waits = self.cancels_waits or cancels_waits
        if not self.reason:
            self.reason, self.final = reason, final

    async def sleep(self, seconds: float) -> None:
        """Wait before a call. Raises StopRequestedError when a stop cancels such waits."""
        end = time.monotonic() + seconds
        self.check_waits()
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _POLL_SECONDS))
            self.check_waits()

    def check_waits(self) -> None:
        """Raise StopRequestedError after a stop request that cancels the waits before calls."""
        if self.cancels_waits:
            raise StopRequestedError

    def check(self) -> None:
        """Raise StopRequestedError after a stop request."""
        if self.reason:
            raise StopRequestedError
