"""OpenAI, and any server that speaks its chat completions (Ollama, vLLM, llama.cpp …)."""

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
    """Streams chat completions from one endpoint."""

    scripted = False

    def __init__(self, endpoint: Endpoint, limit_name: str) -> None:
        """`limit_name` is the request's field for the longest reply."""
        self._endpoint = endpoint
        self._limit_name = limit_name
        # Whole, because the SDK takes an eighth of a call to put a path behind its base URL.
        self._url = f"{endpoint.address.rstrip('/')}/chat/completions"
        # Names of calls, which the SDK would draw from the system for each, though it sends them nowhere.
        self._prefix, self._calls = uuid4(), count()
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=endpoint.address,
            default_headers=endpoint.headers,
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(verify=trusted_certificates(), limits=CONNECTIONS),
        )

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """As `Provider.stream`."""
        completed: Completed | None = None
        failure: ProviderError | None = None
        try:
            request = self.body(model, messages, parameters)
            request |= {"stream": True, "stream_options": {"include_usage": True}}
            # The SDK's plain way to an endpoint: its typed one takes twice the processor time of the whole call.
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
                async for chunk in _chunks(response):
                    if error := chunk.get("error"):
                        raise self._endpoint.broken_off(error)
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
                        # The usage comes in one more chunk; should that one be lost, the reply is still whole.
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
            # Raised here, not above, so that the SDK's exception is not carried along as its context.
            raise failure or self._endpoint.cut_short()
        yield completed

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """The request, without what asks for a stream."""
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            **parameters.to_json(),
        }
        if "max_output_tokens" in request:
            request[self._limit_name] = request.pop("max_output_tokens")
        return request

    async def aclose(self) -> None:
        """As `Provider.aclose`."""
        await self._client.close()


class OpenAIProvider(ChatCompletions):
    """OpenAI's own service, or a proxy before it (OPENAI_BASE_URL)."""

    def __init__(self) -> None:
        endpoint = Endpoint.from_settings("OpenAI", "OPENAI", _OPENAI_URL)
        endpoint.require_key()
        # OpenAI's newer models refuse `max_tokens`; most other servers know nothing else.
        super().__init__(endpoint, "max_completion_tokens" if endpoint.url == _OPENAI_URL else "max_tokens")


class CompatibleProvider(ChatCompletions):
    """Any server with OpenAI's wire format (COMPATIBLE_BASE_URL); it may do without a key."""

    def __init__(self) -> None:
        super().__init__(Endpoint.from_settings("Compatible server", "COMPATIBLE", ""), "max_tokens")


async def _chunks(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The chunks of a streamed reply. Raises ValueError for one that is no JSON."""
    rest = b""
    async for data in response.aiter_bytes():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            content = line[5:].strip() if line.startswith(b"data:") else b""
            if content and content != b"[DONE]":
                yield json.loads(content)


def reasoning_of(delta: Mapping[str, Any]) -> str:
    """Visible reasoning, which is no part of OpenAI's format: vLLM, DeepSeek and Ollama add a field for it."""
    reasoning = delta.get("reasoning_content") or delta.get("reasoning")
    return reasoning if isinstance(reasoning, str) else ""


def finish_reason_of(told: str, refusal: str) -> str:
    """The finish reason of a reply, as `Completed` has it."""
    return "refusal" if refusal or told == "content_filter" else told


def usage_of(usage: Mapping[str, Any] | None) -> TokenUsage:
    """The tokens of a reply, as far as the server says them."""
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
