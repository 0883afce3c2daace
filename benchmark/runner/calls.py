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


def announced_retry(tell: Callable[[str], object], stop: Stop) -> Retry:
    """Return the usual retries, whose waits are announced by `tell` and end when a stop is asked for.

    Calls that wait at the same time are announced by one line.
    """
    announced_until = 0.0

    def announce(seconds: float, error: ProviderError) -> None:
        nonlocal announced_until
        now = time.monotonic()
        if seconds >= _SHORTEST_TOLD and now >= announced_until:
            announced_until = now + seconds
            tell(f"Waiting {seconds:,.0f} seconds before calls are repeated: {error.message}")

    return Retry(announce=announce, sleep=stop.sleep)
