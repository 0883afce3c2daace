"""OpenAI, and any server with its chat completions format (Ollama, vLLM, llama.cpp …)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any
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
    TokenUsage,
)

_OPENAI_URL = "https://api.openai.com/v1"


class ChatCompletions:
    """A client for streamed chat completions of one endpoint."""

    scripted = False

    def __init__(self, endpoint: Endpoint, limit_name: str) -> None:
        """`limit_name` is the request's field for the longest reply."""
        self._endpoint = endpoint
        self._limit_name = limit_name
        # The whole URL: the SDK takes an eighth of a call's time to append a path to its base URL.
        self._url = f"{endpoint.address.rstrip('/')}/chat/completions"
        # Idempotency keys, which the SDK would otherwise draw from the system for each call.
        self._prefix, self._calls = uuid4(), count()
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",  # the SDK requires one; servers without keys ignore it
            http_client=openai.DefaultAioHttpClient(verify=trusted_certificates(), limits=CONNECTIONS),
            **endpoint.client_options,
        )

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`."""
        completed: Completed | None = None
        failure: ProviderError | None = None
        try:
            request = self.body(model, messages, parameters)
            request |= {"stream": True, "stream_options": {"include_usage": True}}
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
                usage: Mapping[str, Any] | None = None
                finish_reason = refusal = ""
                async for chunk in self._chunks(response):
                    for choice in chunk.get("choices") or ():
                        delta = choice["delta"]
                        if reasoning := reasoning_of(delta):
                            yield ReasoningDelta(reasoning)
                        if text := delta.get("content") or delta.get("refusal"):
                            yield TextDelta(text)
                        refusal = refusal or (delta.get("refusal") or "")
                        finish_reason = choice.get("finish_reason") or finish_reason
                    usage = chunk.get("usage") or usage
                    if finish_reason:
                        # The usage comes in one more chunk; without it the reply is still complete.
                        completed = Completed(
                            usage=usage_of(usage),
                            model=chunk.get("model") or model,
                            finish_reason=finish_reason_of(finish_reason, refusal),
                            request_id=request_id or chunk.get("id") or "",
                        )
        except ProviderError as error:
            failure = error
        except (openai.OpenAIError, *CLIENT_ERRORS) as error:
            failure = self._endpoint.failure(error)
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
            if error := chunk.get("error"):
                raise self._endpoint.stream_error(error)
            yield chunk

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """Return the body of the request, without the fields for a stream."""
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            **parameters.to_json(),
        }
        if "max_output_tokens" in request:
            request[self._limit_name] = request.pop("max_output_tokens")
        return request

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.close()


class OpenAIProvider(ChatCompletions):
    """OpenAI's service, or a proxy in front of it (OPENAI_BASE_URL)."""

    def __init__(self) -> None:
        endpoint = Endpoint.from_settings("OpenAI", "OPENAI", _OPENAI_URL)
        endpoint.require_key()
        # OpenAI's newer models refuse `max_tokens`; most other servers accept nothing else.
        super().__init__(endpoint, "max_completion_tokens" if endpoint.url == _OPENAI_URL else "max_tokens")


class CompatibleProvider(ChatCompletions):
    """Any server with OpenAI's wire format (COMPATIBLE_BASE_URL), with or without a key."""

    def __init__(self) -> None:
        super().__init__(Endpoint.from_settings("Compatible server", "COMPATIBLE", ""), "max_tokens")


def reasoning_of(delta: Mapping[str, Any]) -> str:
    """Return the visible reasoning of a delta, in the field that vLLM, DeepSeek and Ollama add to OpenAI's format."""
    reasoning = delta.get("reasoning_content") or delta.get("reasoning")
    return reasoning if isinstance(reasoning, str) else ""


def finish_reason_of(reported: str, refusal: str) -> str:
    """Return the finish reason of a reply in the form of `Completed`."""
    return "refusal" if refusal or reported == "content_filter" else reported


def usage_of(usage: Mapping[str, Any] | None) -> TokenUsage:
    """Return the tokens of a reply; those that the server does not report are None."""
    if usage is None:
        return TokenUsage(None, None, None, None)
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return TokenUsage(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_input_tokens=prompt.get("cached_tokens"),
        reasoning_tokens=completion.get("reasoning_tokens"),
    )
