"""Anthropic's Message Batches: one call creates a batch of requests with our ids; the results are lines of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Container, Sequence
from datetime import datetime, timedelta
from typing import Any

import anthropic
from anthropic.types import Message as AnthropicMessage
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

from benchmark.providers.anthropic_messages import FINISH_REASONS, AnthropicProvider, blocks_of, usage_of
from benchmark.providers.batching import BatchLimits, BatchResult, BatchState, unanswered
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)

_CLOCK_TOLERANCE = timedelta(minutes=10)
"""The largest assumed difference between the provider's clock and ours."""

_POLL_SECONDS = 30.0
"""Seconds between two polls of a batch that may be ours."""


class AnthropicBatches(AnthropicProvider):
    """A `BatchingProvider` for Anthropic."""

    limits = BatchLimits(100_000, 256_000_000)

    async def check_batches(self) -> None:
        """See `BatchingProvider.check_batches`; lists one batch."""
        await self._endpoint.check_batches(
            self._client.messages.batches.list(limit=1), anthropic.AnthropicError
        )

    def request(
        self, name: str, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> dict[str, Any]:
        """See `BatchingProvider.request`. Raises ProviderError for parameters that the API refuses."""
        return {"custom_id": name, "params": self.body(model, messages, parameters)}

    async def prepare_batch(self, requests: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the requests: nothing is uploaded in advance."""
        return requests

    async def create_batch(self, _marker: str, prepared: Sequence[Any]) -> str:
        """See `BatchingProvider.create_batch`. Anthropic stores no marker."""
        with self._endpoint.errors(anthropic.AnthropicError):
            return (await self._client.messages.batches.create(requests=prepared)).id

    async def find_batch(
        self, _marker: str, names: Collection[str], since: datetime, known: Container[str]
    ) -> str | None:
        """See `BatchingProvider.find_batch`; compares the requests' ids, which are known after the end of a batch.

        The result is therefore None only after every batch from that time with the same number of requests has ended.
        """
        with self._endpoint.errors(anthropic.AnthropicError):
            async for batch in self._client.messages.batches.list(limit=100):
                if batch.created_at < since - _CLOCK_TOLERANCE:
                    break
                if (
                    _size(batch) == len(names)
                    and batch.id not in known
                    and await self._contains(batch, names)
                ):
                    return batch.id
        return None

    async def _contains(self, batch: MessageBatch, names: Collection[str]) -> bool:
        """Wait for the end of the batch and return whether its first result belongs to one of these requests."""
        batches = self._client.messages.batches
        while (await batches.retrieve(batch.id)).processing_status != "ended":
            await asyncio.sleep(_POLL_SECONDS)
        results = await batches.results(batch.id)
        try:
            async for line in results:
                return line.custom_id in names
        finally:
            await results.close()
        return False

    async def batch_state(self, batch_id: str) -> BatchState:
        """See `BatchingProvider.batch_state`. Anthropic counts answered requests after the end of the batch."""
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
        """See `BatchingProvider.cancel_batch`; the refusal to cancel a batch that has ended is not an error."""
        with self._endpoint.errors(anthropic.AnthropicError):
            try:
                await self._client.messages.batches.cancel(batch_id)
            except (anthropic.ConflictError, anthropic.BadRequestError):
                if (await self.batch_state(batch_id)).ended_at is None:
                    raise


def _size(batch: MessageBatch) -> int:
    """Return the number of requests in the batch."""
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _events(answer: AnthropicMessage) -> tuple[StreamEvent, ...]:
    """Return a complete reply as the events of a stream."""
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
        blocks=blocks_of(block.to_dict() for block in answer.content),
    )
    return (*events, completed)
