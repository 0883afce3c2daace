"""Retries of calls after failures of the provider or the network."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, cast

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    Provider,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TokenUsage,
)
from benchmark.text.storable import storable


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts and the waits between them, in seconds.

    The n-th wait is random between half of and all of `base` times 2^(n-1), and at most `cap`. A wait that the
    provider requests is observed up to `longest`, plus a random part of up to a quarter of it, at most `cap`, to
    spread simultaneous calls. A call with a longer requested wait is not repeated. `announce` gets each wait and its
    error before it begins.
    """

    attempts: int = 4
    base: float = 1.0
    cap: float = 30.0
    longest: float = 600.0
    announce: Callable[[float, ProviderError], object] = field(
        default=lambda _seconds, _error: None, repr=False, compare=False
    )
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False, compare=False)
    random: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def check(self, failures: int, error: ProviderError) -> None:
        """Raise the error of the last failed attempt unless the call may be repeated."""
        if not error.retryable or failures >= self.attempts:
            raise error
        if error.retry_after is not None and error.retry_after > self.longest:
            raise ProviderError(
                error.kind,
                f"{error.message} The provider requests a wait of {error.retry_after:,.0f} seconds, longer than the "
                f"{self.longest:,.0f} seconds that a call may wait. Resume later.",
                retryable=False,
                retry_after=error.retry_after,
            )

    async def pause(self, failures: int, error: ProviderError) -> None:
        """Wait before the next attempt."""
        if error.retry_after is not None:
            wait = error.retry_after + min(self.cap, error.retry_after / 4) * self.random()
        else:
            wait = min(self.cap, self.base * 2.0 ** (failures - 1) * (1 + self.random()) / 2)
        self.announce(wait, error)
        await self.sleep(wait)


@dataclass(frozen=True)
class Restarted:
    """A reply that broke off after some of its events; the events so far are void, and the reply starts again."""

    error: ProviderError


@dataclass(frozen=True)
class ModelReply:
    """A complete reply.

    `attempts` counts the calls; `latency` and `first_token` are the seconds from the start of the successful call to
    its end and to its first piece of text or reasoning (None without one).
    """

    text: str
    reasoning: str
    usage: TokenUsage
    model: str
    finish_reason: str
    request_id: str
    attempts: int
    latency: float
    first_token: float | None
    blocks: tuple[Mapping[str, Any], ...] = ()


async def stream_with_retries(
    provider: Provider,
    model: str,
    messages: Sequence[Message],
    parameters: Parameters,
    *,
    retry: RetryPolicy = RetryPolicy(),
) -> AsyncGenerator[StreamEvent | Restarted, None]:
    """Yield the events of a reply, repeated after retryable errors; the last one is `Completed`.

    `Restarted` precedes the events of a repeated call if the failed one yielded any. Raises the last ProviderError
    when no attempt is left or it is not retryable. Closing this generator ends the call.
    """
    for attempt in count(1):
        begun = False
        try:
            async with aclosing(_events(provider, model, messages, parameters)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except ProviderError as failure:
            error = failure
        retry.check(attempt, error)
        if begun:
            yield Restarted(error)
        await retry.pause(attempt, error)


async def complete(
    provider: Provider,
    model: str,
    messages: Sequence[Message],
    parameters: Parameters,
    *,
    retry: RetryPolicy = RetryPolicy(),
) -> ModelReply:
    """Return the complete reply, retried like `stream_with_retries`. Raises ProviderError."""
    attempt = 1
    while True:
        try:
            return await _complete_once(provider, model, messages, parameters, attempt)
        except ProviderError as failure:
            error = failure
        retry.check(attempt, error)
        await retry.pause(attempt, error)
        attempt += 1


async def _complete_once(
    provider: Provider, model: str, messages: Sequence[Message], parameters: Parameters, attempt: int
) -> ModelReply:
    text: list[str] = []
    reasoning: list[str] = []
    first_token: float | None = None
    started = time.monotonic()
    async with aclosing(_events(provider, model, messages, parameters)) as events:
        async for event in events:
            if isinstance(event, Completed):
                return ModelReply(
                    text="".join(text),
                    reasoning="".join(reasoning),
                    usage=event.usage,
                    model=event.model,
                    finish_reason=event.finish_reason,
                    request_id=event.request_id,
                    attempts=attempt,
                    latency=time.monotonic() - started,
                    first_token=first_token,
                    blocks=event.blocks,
                )
            if first_token is None:
                first_token = time.monotonic() - started
            (text if isinstance(event, TextDelta) else reasoning).append(event.text)
    raise ProviderError("connection", "The reply ended before it was complete.")


async def _events(
    provider: Provider, model: str, messages: Sequence[Message], parameters: Parameters
) -> AsyncGenerator[StreamEvent, None]:
    """Yield the provider's events, with text and blocks that any database can store."""
    # By its contract a provider's stream is a generator; closing it ends the costs.
    stream = cast("AsyncGenerator[StreamEvent, None]", provider.stream(model, messages, parameters))
    halves: dict[type[TextDelta | ReasoningDelta], str] = {}
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, Completed):
                for kind, half in halves.items():
                    yield kind(storable(half))
                yield event if _is_storable(event.blocks) else replace(event, blocks=())
                return
            text = halves.pop(type(event), "") + event.text
            if (
                text and "\ud800" <= text[-1] <= "\udbff"
            ):  # half a character: the other half comes with the next piece
                text, halves[type(event)] = text[:-1], text[-1]
            if text:
                yield replace(event, text=storable(text))


def _is_storable(blocks: tuple[Mapping[str, Any], ...]) -> bool:
    """Return whether any database can store the blocks unchanged: no NUL and no lone surrogate is in them."""
    text = json.dumps(blocks, ensure_ascii=False)
    return storable(text) == text and "\\u0000" not in text
