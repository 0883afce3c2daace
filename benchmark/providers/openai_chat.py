"""OpenAI, and any server that speaks its chat completions (Ollama, vLLM, llama.cpp …)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import openai
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from openai.types.completion_usage import CompletionUsage

from benchmark.providers.endpoint import CLIENT_ERRORS, Endpoint, trusted_certificates
from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    Usage,
)

_OPENAI_URL = "https://api.openai.com/v1"
_FINISH_REASONS = {"content_filter": "refusal"}


class _ChatCompletions:
    """Streams chat completions from one endpoint."""

    scripted = False

    def __init__(self, endpoint: Endpoint, limit_name: str) -> None:
        """`limit_name` is the request's field for the longest reply."""
        self._endpoint = endpoint
        self._limit_name = limit_name
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=endpoint.url,
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=trusted_certificates()),
        )

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """As `Provider.stream`."""
        completed: Completed | None = None
        failure: ProviderError | None = None
        try:
            async with await self._request(model, messages, parameters) as chunks:
                request_id = chunks.response.headers.get("x-request-id", "")
                usage: CompletionUsage | None = None
                finish_reason = refusal = ""
                async for chunk in chunks:
                    for choice in chunk.choices or ():
                        delta = choice.delta
                        if reasoning := _reasoning(delta):
                            yield ReasoningDelta(reasoning)
                        if text := delta.content or delta.refusal:
                            yield TextDelta(text)
                        refusal = refusal or (delta.refusal or "")
                        finish_reason = choice.finish_reason or finish_reason
                    usage = chunk.usage or usage
                    if finish_reason:
                        # The usage comes in one more chunk; should that one be lost, the reply is still whole.
                        completed = Completed(
                            usage=_usage(usage),
                            model=chunk.model or model,
                            finish_reason="refusal"
                            if refusal
                            else _FINISH_REASONS.get(finish_reason, finish_reason),
                            request_id=request_id or chunk.id or "",
                        )
        except (openai.OpenAIError, *CLIENT_ERRORS) as error:
            failure = self._endpoint.failure(error)
        if completed is None:
            # Raised here, not above, so that the SDK's exception is not carried along as its context.
            raise failure or self._endpoint.cut_short()
        yield completed

    async def _request(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "stream_options": {"include_usage": True},
            **parameters.to_json(),
        }
        if "max_output_tokens" in request:
            request[self._limit_name] = request.pop("max_output_tokens")
        stream = await self._client.chat.completions.create(stream=True, **request)
        return cast("openai.AsyncStream[ChatCompletionChunk]", stream)

    async def aclose(self) -> None:
        """As `Provider.aclose`."""
        await self._client.close()


class OpenAIProvider(_ChatCompletions):
    """OpenAI's own service, or a proxy before it (OPENAI_BASE_URL)."""

    def __init__(self) -> None:
        endpoint = Endpoint.from_settings("OpenAI", "OPENAI", _OPENAI_URL)
        endpoint.require_key()
        # OpenAI's newer models refuse `max_tokens`; most other servers know nothing else.
        super().__init__(endpoint, "max_completion_tokens" if endpoint.url == _OPENAI_URL else "max_tokens")


class CompatibleProvider(_ChatCompletions):
    """Any server with OpenAI's wire format (COMPATIBLE_BASE_URL); it may do without a key."""

    def __init__(self) -> None:
        super().__init__(Endpoint.from_settings("Compatible server", "COMPATIBLE", ""), "max_tokens")


def _reasoning(delta: ChoiceDelta) -> str:
    """Visible reasoning, which is no part of OpenAI's format: vLLM, DeepSeek and Ollama add a field for it."""
    extra = delta.model_extra or {}
    reasoning = extra.get("reasoning_content") or extra.get("reasoning")
    return reasoning if isinstance(reasoning, str) else ""


def _usage(usage: CompletionUsage | None) -> Usage:
    if usage is None:
        return Usage(None, None, None, None)
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cached_input_tokens=prompt.cached_tokens if prompt else None,
        reasoning_tokens=completion.reasoning_tokens if completion else None,
    )
