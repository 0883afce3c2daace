"""Anthropic's Message Batches: requests with ids of ours, in one call; their results as lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Container, Sequence
from datetime import datetime, timedelta
from typing import Any

import anthropic
from anthropic.types import Message as AnthropicMessage
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

from benchmark.providers.anthropic_messages import FINISH_REASONS, AnthropicProvider, usage_of
from benchmark.providers.batching import BatchLimits, BatchResult, BatchState, unanswered
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)

_CLOCKS = timedelta(minutes=10)
"""How far the provider's clock and ours may be apart."""

_LOOK = 30.0
"""Seconds between two looks at a batch that may be ours."""


class AnthropicBatches(AnthropicProvider):
    """`BatchingProvider` for Anthropic."""

    limits = BatchLimits(100_000, 256_000_000)

    async def check_batches(self) -> None:
        """See `BatchingProvider.check_batches`: one batch is listed."""
        await self._endpoint.check_batches(
            self._client.messages.batches.list(limit=1), anthropic.AnthropicError
        )

    def request(
        self, name: str, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> dict[str, Any]:
        """See `BatchingProvider.request`. Raises ProviderError for a seed."""
        return {"custom_id": name, "params": self.body(model, messages, parameters)}

    async def prepare_batch(self, requests: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The requests: nothing is uploaded beforehand."""
        return requests

    async def create_batch(self, mark: str, prepared: Sequence[Any]) -> str:
        """See `BatchingProvider.create_batch`. Anthropic keeps no mark."""
        with self._endpoint.errors(anthropic.AnthropicError):
            return (await self._client.messages.batches.create(requests=prepared)).id

    async def find_batch(
        self, mark: str, names: Collection[str], since: datetime, known: Container[str]
    ) -> str | None:
        """See `BatchingProvider.find_batch`, by the ids of the requests, which are told when a batch has ended.

        So every batch of that time with as many requests has to end before it is certain that none is ours.
        """
        with self._endpoint.errors(anthropic.AnthropicError):
            async for batch in self._client.messages.batches.list(limit=100):
                if batch.created_at < since - _CLOCKS:
                    break
                if _size(batch) == len(names) and batch.id not in known and await self._holds(batch, names):
                    return batch.id
        return None

    async def _holds(self, batch: MessageBatch, names: Collection[str]) -> bool:
        """Whether the first result of the batch, which is waited for, is one of these requests'."""
        batches = self._client.messages.batches
        while (await batches.retrieve(batch.id)).processing_status != "ended":
            await asyncio.sleep(_LOOK)
        results = await batches.results(batch.id)
        try:
            async for line in results:
                return line.custom_id in names
        finally:
            await results.close()
        return False

    async def batch_state(self, batch_id: str) -> BatchState:
        """See `BatchingProvider.batch_state`. Anthropic counts what is answered when the batch has ended."""
        with self._endpoint.errors(anthropic.AnthropicError):
            batch = await self._client.messages.batches.retrieve(batch_id)
        ended = batch.processing_status == "ended"
        return BatchState(
            ended_at=batch.ended_at if ended else None,
            answered=_size(batch) - batch.request_counts.processing,
        )

    async def batch_results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """See `BatchingProvider.batch_results`."""
        with self._endpoint.errors(anthropic.AnthropicError):
            results = await self._client.messages.batches.results(batch_id)
            try:
                async for line in results:
                    yield self._result(line)
            finally:
                await results.close()

    def _result(self, line: MessageBatchIndividualResponse) -> BatchResult:
        result = line.result
        if result.type == "succeeded":
            try:
                return BatchResult(line.custom_id, _events(result.message))
            except (TypeError, AttributeError) as error:
                return BatchResult(line.custom_id, self._endpoint.failure(error))
        if result.type == "errored":
            return BatchResult(line.custom_id, self._endpoint.batch_error(result.error.error.to_dict()))
        return BatchResult(line.custom_id, unanswered(self._endpoint.name, result.type))

    async def cancel_batch(self, batch_id: str) -> None:
        """See `BatchingProvider.cancel_batch`; one that has ended refuses, which is no error here."""
        with self._endpoint.errors(anthropic.AnthropicError):
            try:
                await self._client.messages.batches.cancel(batch_id)
            except (anthropic.ConflictError, anthropic.BadRequestError):
                if (await self.batch_state(batch_id)).ended_at is None:
                    raise


def _size(batch: MessageBatch) -> int:
    """How many requests it holds."""
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _events(answer: AnthropicMessage) -> tuple[StreamEvent, ...]:
    """A whole reply as the events of a stream."""
    events: list[StreamEvent] = []
    for block in answer.content:
        if block.type == "text":
            events.append(TextDelta(block.text))
        elif block.type == "thinking":
            events.append(ReasoningDelta(block.thinking))
    reason = answer.stop_reason or ""
    completed = Completed(
        usage=usage_of(answer.usage, answer.usage),
        model=answer.model,
        finish_reason=FINISH_REASONS.get(reason, reason),
        request_id=answer.id,
    )
    return (*events, completed)
