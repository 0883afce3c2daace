"""The client that all APIs with OpenAI's wire format share: requests, server-sent events and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, ClassVar, Protocol
from uuid import uuid4

import httpx2
import openai

from benchmark.providers.endpoint import CLIENT_ERRORS, CONNECTIONS, Endpoint, trusted_certificates
from benchmark.providers.errors import ProviderError
from benchmark.providers.event_stream import event_data
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)

OPENAI_URL = "https://api.openai.com/v1"


def openai_endpoint() -> Endpoint:
    """Return OpenAI's service, or a proxy in front of it. Raises ProviderError without a key."""
    endpoint = Endpoint.from_settings("OpenAI", "OPENAI", OPENAI_URL)
    endpoint.require_key()
    return endpoint


class ReplyReader(Protocol):
    """The reader of one streamed reply; `completed` is None until its end has arrived."""

    completed: Completed | None

    def read(self, chunk: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield the pieces of text in the next chunk."""
        ...


class OpenAIClient:
    """A client for streamed requests to one path of a server; a subclass defines the form of requests and replies."""

    scripted = False
    path: ClassVar[str]
    """The path below the server's address, such as "/responses"."""
    stream_fields: ClassVar[dict[str, Any]] = {"stream": True}
    """The fields of a request whose reply is streamed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        # The whole URL: the SDK takes an eighth of a call's time to append a path to its base URL.
        self._url = f"{endpoint.address.rstrip('/')}{self.path}"
        # Idempotency keys, which the SDK would otherwise generate from system randomness for each call.
        self._prefix, self._calls = uuid4(), count()
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",  # the SDK requires one; servers without keys ignore it
            http_client=openai.DefaultAioHttpClient(verify=trusted_certificates(), limits=CONNECTIONS),
            **endpoint.client_options,
        )

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """Return the body of the request, without the fields for a stream. Raises ProviderError."""
        raise NotImplementedError

    def reader(self, model: str, request_id: str) -> ReplyReader:
        """Return a reader of the streamed reply to one request; `request_id` is blank if the server sends none."""
        raise NotImplementedError

    def read_whole(self, reply: Mapping[str, Any], request_id: str) -> tuple[StreamEvent, ...]:
        """Return the events of a reply that was not streamed. Raises ProviderError."""
        raise NotImplementedError

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`."""
        reader: ReplyReader | None = None
        failure: ProviderError | None = None
        try:
            request = self.body(model, messages, parameters) | self.stream_fields
            # Not the SDK's stream: docs/decisions.md, "Server-sent events".
            async with aclosing(
                await self._client.post(
                    self._url,
                    cast_to=httpx2.Response,
                    body=request,
                    options={"idempotency_key": f"{self._prefix}-{next(self._calls)}"},
                    stream=True,
                )
            ) as response:
                request_id = response.headers.get("x-request-id", "")
                reader = self.reader(model, request_id)
                async for chunk in self._chunks(response):
                    for event in reader.read(chunk):
                        yield event
        except ProviderError as error:
            failure = error
        except (openai.OpenAIError, *CLIENT_ERRORS) as error:
            failure = self._endpoint.failure(error)
        completed = reader.completed if reader else None
        if completed is None:
            # Raised here, not above: the SDK's exception must not become its context.
            raise failure or self._endpoint.incomplete_reply()
        yield completed

    async def _chunks(self, response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
        """Yield the chunks of a reply. Raises ValueError for invalid JSON, ProviderError for an error event."""
        async for data in event_data(response.aiter_bytes()):
            if data.startswith(b"[DONE]"):
                continue
            chunk: dict[str, Any] = json.loads(data)
            if error := error_in(chunk):
                raise self._endpoint.stream_error(error)
            yield chunk

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.close()


def error_in(chunk: Mapping[str, Any]) -> object:
    """Return the details of the error that a chunk of any API reports, or None."""
    if chunk.get("type") == "error" and "error" not in chunk:
        return {"code": chunk.get("code"), "message": chunk.get("message")}
    return chunk.get("error") or (chunk.get("response") or {}).get("error")
