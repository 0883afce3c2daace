"""Asking a run to stop, and what makes it stop."""

import asyncio
import time

FATAL_KINDS = frozenset({"authentication", "configuration"})
"""Faults that every further call would meet too: the run stops instead of failing item by item."""

PERMANENT_KINDS = frozenset({"bad_request"})
"""Faults that this request would meet again and others need not: a context overflow, a refused prompt."""

USAGE_UNREPORTED = (
    "the provider does not say how many tokens a reply took: no budget of money or tokens can be kept"
)
"""Why a run with such a budget stops."""


_LOOK = 0.2
"""Seconds after which a waiting call looks whether it is to stop."""


class StopRequestedError(Exception):
    """No new call and no new judging begins: someone asked the run to stop."""


class Stop:
    """A request to stop; `reason` is blank until someone asks, and then the first one's.

    `final` says that all processes of the run are to stop, not this one alone. `ends_waits` says that calls which wait
    before they are repeated give up.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.final = True
        self.ends_waits = False

    def ask(self, reason: str, *, final: bool = True, ends_waits: bool = True) -> None:
        """No new call begins from now on; calls in flight, which are paid for, are waited for."""
        self.ends_waits = self.ends_waits or ends_waits
        if not self.reason:
            self.reason, self.final = reason, final

    async def sleep(self, seconds: float) -> None:
        """Wait before a call is repeated. Raises Stopped as soon as a stop ends such waits."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.ends_waits:
                raise StopRequestedError
            await asyncio.sleep(min(left, _LOOK))

    def check(self) -> None:
        """Raises Stopped once someone asked."""
        if self.reason:
            raise StopRequestedError
