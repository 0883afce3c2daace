"""How fast a process may call its model: its share of the model's limits.

All processes that call a model have a row (`presence`), on one machine or on many, and share the model's limits
equally. A share is looked at again with every heartbeat; between two the processes need not talk to each other.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, cast

from benchmark.providers import (
    REFUSED,
    Completed,
    Message,
    Parameters,
    Provider,
    ProviderError,
    StreamEvent,
)

CHARACTERS_PER_TOKEN = 3.65
"""Of English and programs, within 7 % (measured with the tokenisers of GPT-4)."""

BURST = 6.0
"""Seconds of a limit that may be used at once."""


@dataclass(frozen=True)
class Limits:
    """What all processes of a model may do together; None: no limit but the provider's own."""

    concurrency: int = 8
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    context_tokens: int | None = None

    def to_json(self) -> dict[str, int]:
        """Without what is not limited."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class CellRate:
    """So many a minute, by the generic cell rate algorithm: `due` is when all that was taken is paid off."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = 60 / per_minute
        self._clock = clock
        self._due = clock()

    def take(self, number: float, peers: int) -> None:
        """Take some; a negative number gives them back."""
        self._due = max(self._due, self._clock()) + number * self._seconds * peers

    def wait(self) -> float:
        """Seconds until more may be taken."""
        return max(0.0, self._due - BURST - self._clock())


class RateLimiter:
    """The share of one process."""

    def __init__(self, limits: Limits, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self.peers = 1
        self.in_flight = 0
        self._limits = limits
        self._sleep = sleep
        self._requests = CellRate(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = CellRate(limits.tokens_per_minute) if limits.tokens_per_minute else None
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def acquire(self, tokens: int) -> AsyncIterator[Callable[[int], None]]:
        """One call of about so many tokens, when its turn has come. What is yielded takes the real number."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.in_flight < self._share())
            self.in_flight += 1
        try:
            for rate, number in ((self._requests, 1), (self._tokens, tokens)):
                if rate:
                    while wait := rate.wait():
                        await self._sleep(wait)
                    rate.take(number, self.peers)
            yield lambda used: self._tokens.take(used - tokens, self.peers) if self._tokens else None
        finally:
            self.in_flight -= 1
            async with self._changed:
                self._changed.notify(1)

    async def set_peers(self, peers: int) -> None:
        """From now on so many processes share the limits, this one among them."""
        if peers != self.peers:
            self.peers = peers
            async with self._changed:
                self._changed.notify_all()

    def _share(self) -> int:
        return max(1, self._limits.concurrency // self.peers)


class RateLimitedProvider:
    """A provider each of whose calls, repeated ones too, waits for its turn; a prompt that is too long is refused.

    It counts the calls that broke off: begun, without a complete reply, and possibly billed. A call that the provider
    refused before its first piece is none of them; one that was dropped on this side is.
    """

    def __init__(self, provider: Provider, pace: RateLimiter, limits: Limits) -> None:
        self.scripted = provider.scripted
        self._provider = provider
        self._pace = pace
        self._context = limits.context_tokens
        self._broken_off = 0

    def pop_broken_off(self) -> int:
        """Return how many calls broke off since the last time."""
        taken, self._broken_off = self._broken_off, 0
        return taken

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """As `Provider.stream`."""
        tokens = check_length(messages, parameters, self._context)
        async with self._pace.acquire(tokens) as used:
            # By its contract a provider's stream is a generator.
            stream = cast("Any", self._provider.stream(model, messages, parameters))
            begun = settled = False
            try:
                async with aclosing(stream) as events:
                    async for event in events:
                        begun = True
                        if isinstance(event, Completed):
                            settled = True
                            used((event.usage.input_tokens or tokens) + (event.usage.output_tokens or 0))
                        yield event
            except ProviderError as error:
                settled = not begun and error.kind in REFUSED
                raise
            finally:
                self._broken_off += not settled

    async def aclose(self) -> None:
        """As `Provider.aclose`."""
        await self._provider.aclose()


def check_length(messages: Sequence[Message], parameters: Parameters, context: int | None) -> int:
    """About how many tokens the prompt has. Raises ProviderError when it and the reply cannot fit the context."""
    tokens = round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)
    reply = parameters.max_output_tokens or 0
    if context is not None and tokens + reply > context:
        raise ProviderError(
            "bad_request",
            f"The prompt has about {tokens:,} tokens and the reply up to {reply:,}, more than the context of "
            f"{context:,} (--context-tokens). Show less: --set semantic_max_chars, p, buffer=last, max_output_tokens.",
        )
    return tokens
