"""OpenAI's batches of chat completions and responses: a file of requests, a batch, and files of replies and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Container, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

import openai
from openai.types import Batch

from benchmark.providers.batching import BatchLimits, BatchResult, BatchState, unanswered
from benchmark.providers.errors import ProviderError
from benchmark.providers.openai_chat import CompatibleProvider, OpenAIProvider
from benchmark.providers.openai_client import OpenAIClient
from benchmark.providers.openai_responses import OpenAIResponses
from benchmark.providers.protocol import Message, Parameters, StreamEvent

_BatchPath = Literal["/v1/chat/completions", "/v1/responses"]
_MARKER = "hintbench"
_CLOCK_TOLERANCE = timedelta(minutes=10)
"""The largest assumed difference between the provider's clock and ours."""

_UNANSWERED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})
"""Codes of requests without an answer, which may be sent again."""


class _Batches(OpenAIClient):
    """A `BatchingProvider` for one endpoint."""

    limits = BatchLimits(50_000, 200_000_000)

    @property
    def _batch_path(self) -> _BatchPath:
        """The path of the requests, as a batch names it."""
        return cast(_BatchPath, f"/v1{self.path}")

    async def check_batches(self) -> None:
        """See `BatchingProvider.check_batches`; lists one batch."""
        await self._endpoint.check_batches(self._client.batches.list(limit=1), openai.OpenAIError)

    def request(
        self, name: str, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> dict[str, Any]:
        """See `BatchingProvider.request`."""
        body = self.body(model, messages, parameters)
        return {"custom_id": name, "method": "POST", "url": self._batch_path, "body": body}

    async def prepare_batch(self, requests: Sequence[dict[str, Any]]) -> str:
        """Return the id of the uploaded file, which OpenAI deletes after a month."""
        content = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
        with self._endpoint.errors(openai.OpenAIError):
            file = await self._client.files.create(file=("requests.jsonl", content), purpose="batch")
        return file.id

    async def create_batch(self, marker: str, prepared: str) -> str:
        """See `BatchingProvider.create_batch`; the marker is stored in the metadata."""
        with self._endpoint.errors(openai.OpenAIError):
            batch = await self._client.batches.create(
                completion_window="24h",
                endpoint=self._batch_path,
                input_file_id=prepared,
                metadata={_MARKER: marker},
            )
        return batch.id

    async def find_batch(
        self, marker: str, _names: Collection[str], since: datetime, _known: Container[str]
    ) -> str | None:
        """See `BatchingProvider.find_batch`; searches the list of batches, newest first, for the marker."""
        with self._endpoint.errors(openai.OpenAIError):
            async for batch in self._client.batches.list(limit=100):
                if (batch.metadata or {}).get(_MARKER) == marker:
                    return batch.id
                if batch.created_at < (since - _CLOCK_TOLERANCE).timestamp():
                    break
        return None

    async def batch_state(self, batch_id: str) -> BatchState:
        """See `BatchingProvider.batch_state`."""
        with self._endpoint.errors(openai.OpenAIError):
            batch = await self._client.batches.retrieve(batch_id)
        counts = batch.request_counts
        ended = batch.failed_at or batch.completed_at or batch.expired_at or batch.cancelled_at
        return BatchState(
            ended_at=datetime.fromtimestamp(ended, UTC) if ended else None,
            answered=counts.completed + counts.failed if counts else 0,
            failure=self._failure(batch) if batch.status == "failed" else None,
        )

    def _failure(self, batch: Batch) -> ProviderError:
        """Return the reason why the provider rejected the batch."""
        details = batch.errors.data[0].to_dict() if batch.errors and batch.errors.data else {}
        return self._endpoint.batch_error(details, 400)

    async def batch_results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """See `BatchingProvider.batch_results`."""
        with self._endpoint.errors(openai.OpenAIError):
            batch = await self._client.batches.retrieve(batch_id)
            for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
                async with self._client.files.with_streaming_response.content(file_id) as response:
                    async for line in _lines(response.iter_bytes()):
                        yield self._result(json.loads(line))

    def _result(self, line: Mapping[str, Any]) -> BatchResult:
        try:
            return BatchResult(line["custom_id"], self._outcome(line))
        except ProviderError as error:
            return BatchResult(line["custom_id"], error)
        except (LookupError, TypeError, AttributeError) as error:
            return BatchResult(line["custom_id"], self._endpoint.failure(ValueError(repr(error))))

    def _outcome(self, line: Mapping[str, Any]) -> tuple[StreamEvent, ...] | ProviderError:
        if error := line.get("error"):
            if error.get("code") in _UNANSWERED:
                return unanswered(self._endpoint.name, error["code"])
            return self._endpoint.batch_error(error)
        response = line["response"]
        if response["status_code"] >= 400:
            return self._endpoint.batch_error(response["body"].get("error"), response["status_code"])
        return self.read_whole(response["body"], response.get("request_id") or "")

    async def cancel_batch(self, batch_id: str) -> None:
        """See `BatchingProvider.cancel_batch`; the conflict of a batch that has ended is not an error."""
        with self._endpoint.errors(openai.OpenAIError):
            try:
                await self._client.batches.cancel(batch_id)
            except (openai.ConflictError, openai.BadRequestError):
                if (await self.batch_state(batch_id)).ended_at is None:
                    raise


class OpenAIBatches(OpenAIProvider, _Batches):
    """OpenAI's own batches of chat completions."""


class OpenAIResponsesBatches(OpenAIResponses, _Batches):
    """Batches of the Responses API."""


class CompatibleBatches(CompatibleProvider, _Batches):
    """Batches of any server with OpenAI's wire format for them."""


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield whole lines; the SDK's method also splits at Unicode line separators within a text."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
    if rest.strip():
        yield rest
