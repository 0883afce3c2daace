"""Rate limiting of a process: its share of the limits of its model.

Every process that calls a model has a `Runner` row, on one machine or on many; all of them share the model's limits
equally. The share is updated with every heartbeat, without any communication in between.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, cast

from benchmark.model_calls.stopping import Stop
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
"""For English and programs, accurate to 7 % (measured with the tokenizers of GPT-4)."""

BURST = 6.0
"""Seconds of a limit that may be used at once."""


@dataclass(frozen=True)
class RateLimits:
    """Limits of all processes of a model together; None: only the provider's own limit."""

    concurrency: int = 8
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    context_tokens: int | None = None

    def to_json(self) -> dict[str, int]:
        """Return the limits that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class CellRate:
    """A limit per minute by the generic cell rate algorithm; `_due` is the theoretical arrival time."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = 60 / per_minute
        self._clock = clock
        self._due = clock()

    def take(self, number: float, peers: int) -> None:
        """Take this number of units, with the limit shared by `peers` processes; a negative number returns units."""
        self._due = max(self._due, self._clock()) + number * self._seconds * peers

    def wait(self) -> float:
        """Return the seconds until more may be taken."""
        return max(0.0, self._due - BURST - self._clock())


class RateLimiter:
    """The rate limiter of one process, for its share of the limits."""

    def __init__(self, limits: RateLimits, stop: Stop) -> None:
        self.peers = 1
        self.in_flight = 0
        self._limits = limits
        self._stop = stop
        self._requests = CellRate(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = CellRate(limits.tokens_per_minute) if limits.tokens_per_minute else None
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def acquire(self, tokens: int) -> AsyncIterator[Callable[[int], None]]:
        """Wait until a call of about this many tokens is allowed, and count it until the block ends.

        The yielded function corrects the number of tokens. Raises StopRequestedError when a stop cancels the wait.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.in_flight < self._share())
            self.in_flight += 1
        try:
            self._stop.check_waits()
            for rate, number in ((self._requests, 1), (self._tokens, tokens)):
                if rate:
                    while wait := rate.wait():
                        await self._stop.sleep(wait)
                    rate.take(number, self.peers)
            yield lambda used: self._tokens.take(used - tokens, self.peers) if self._tokens else None
        finally:
            self.in_flight -= 1
            async with self._changed:
                self._changed.notify(1)

    async def set_peers(self, peers: int) -> None:
        """Set the number of processes that share the limits, this one included."""
        if peers != self.peers:
            self.peers = peers
            async with self._changed:
                self._changed.notify_all()

    def _share(self) -> int:
        return max(1, self._limits.concurrency // self.peers)


class RateLimitedProvider:
    """A provider whose calls, including retries, wait for the rate limiter; prompts that are too long are refused.

    It counts the calls that broke off: calls without a complete reply that are possibly billed. A call that the
    provider refused before its first event is not counted; a call that this process cancelled is.
    """

    def __init__(self, provider: Provider, limiter: RateLimiter, limits: RateLimits) -> None:
        self.scripted = provider.scripted
        self._provider = provider
        self._limiter = limiter
        self._context = limits.context_tokens
        self._broken_off = 0

    def pop_broken_off(self) -> int:
        """Return the number of calls that broke off since the previous call of this method."""
        count, self._broken_off = self._broken_off, 0
        return count

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`."""
        tokens = check_length(messages, parameters, self._context)
        async with self._limiter.acquire(tokens) as correct:
            # By contract, a provider's stream is a generator.
            stream = cast("Any", self._provider.stream(model, messages, parameters))
            begun = settled = False
            try:
                async with aclosing(stream) as events:
                    async for event in events:
                        begun = True
                        if isinstance(event, Completed):
                            settled = True
                            correct((event.usage.input_tokens or tokens) + (event.usage.output_tokens or 0))
                        yield event
            except ProviderError as error:
                settled = not begun and error.kind in REFUSED
                raise
            finally:
                self._broken_off += not settled

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._provider.aclose()


def check_length(messages: Sequence[Message], parameters: Parameters, context: int | None) -> int:
    """Return the estimated tokens of the prompt. Raises ProviderError when prompt and reply exceed the context."""
    tokens = round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)
    reply = parameters.max_output_tokens or 0
    if context is not None and tokens + reply > context:
        raise ProviderError(
            "bad_request",
            f"The prompt has about {tokens:,} tokens and the reply up to {reply:,}, more than the context of "
            f"{context:,} (--context-tokens). Show less: --set semantic_max_chars, p, buffer=last, max_output_tokens.",
        )
    return tokens
