"""Asking a run to stop, and what makes it stop."""

HOPELESS = frozenset({"authentication", "configuration"})
"""Faults that every further call would meet too: the run stops instead of failing item by item."""

PERMANENT = frozenset({"bad_request"})
"""Faults that this request would meet again and others need not: a context overflow, a refused prompt."""

UNCOUNTED = "the provider does not say how many tokens a reply took: no budget of money or tokens can be kept"
"""Why a run with such a budget stops."""


class Stopped(Exception):
    """No new call and no new judging begins: someone asked the run to stop."""


class Stop:
    """A request to stop; `reason` is blank until someone asks, and then the first one's.

    `final` says that all processes of the run are to stop, not this one alone.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.final = True

    def ask(self, reason: str, *, final: bool = True) -> None:
        """No new call begins from now on; calls in flight, which are paid for, are waited for."""
        if not self.reason:
            self.reason, self.final = reason, final

    def check(self) -> None:
        """Raises Stopped once someone asked."""
        if self.reason:
            raise Stopped
