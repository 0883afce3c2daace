"""What is seen of calls beside their replies: those that broke off, and the waits before they are repeated."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

from benchmark.providers import (
    REFUSED,
    Completed,
    Message,
    Parameters,
    Provider,
    ProviderError,
    Retry,
    StreamEvent,
)
from benchmark.runner.stopping import Stop

_SHORTEST_TOLD = 1.0
"""Seconds; shorter waits are not announced."""


class CountedProvider:
    """A provider that counts the calls which broke off: begun, without a complete reply, and possibly billed.

    A call that the provider refused before its first piece is none of them; one that was dropped on this side is.
    """

    def __init__(self, provider: Provider) -> None:
        self.scripted = provider.scripted
        self._provider = provider
        self._broken_off = 0

    def take_broken_off(self) -> int:
        """Return how many calls broke off since the last time."""
        taken, self._broken_off = self._broken_off, 0
        return taken

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """As `Provider.stream`."""
        begun = settled = False
        # By its contract a provider's stream is a generator.
        stream = cast("Any", self._provider.stream(model, messages, parameters))
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    begun = True
                    settled = isinstance(event, Completed)
                    yield event
        except ProviderError as error:
            settled = not begun and error.kind in REFUSED
            raise
        finally:
            self._broken_off += not settled

    async def aclose(self) -> None:
        """As `Provider.aclose`."""
        await self._provider.aclose()


class Waits:
    """The waits of a process before calls are repeated. Those at the same time are announced by one line."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._line = ""
        self._until = 0.0

    @property
    def line(self) -> str:
        """What calls wait for now, in words; blank when none waits."""
        return self._line if time.monotonic() < self._until else ""

    def retry(self, stop: Stop) -> Retry:
        """Return the usual retries, whose waits are announced and end when a stop is asked for."""
        return Retry(announce=self._announce, sleep=stop.sleep)

    def _announce(self, seconds: float, error: ProviderError) -> None:
        if seconds < _SHORTEST_TOLD or self.line:
            return
        self._until = time.monotonic() + seconds
        self._line = f"Waiting {seconds:,.0f} seconds before calls are repeated: {error.message}"
        self._tell(self._line)
