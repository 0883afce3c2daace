"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import anthropic
from anthropic.types import MessageDeltaUsage, RawMessageStreamEvent
from anthropic.types import Usage as StartUsage

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

_ANTHROPIC_URL = "https://api.anthropic.com"
# The API requires a limit in every request. This one leaves room for reasoning and is valid for every current model.
DEFAULT_MAX_OUTPUT_TOKENS = 16_384
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class AnthropicProvider:
    """Anthropic's service, or a proxy in front of it (ANTHROPIC_BASE_URL)."""

    scripted = False

    def __init__(self) -> None:
        self._endpoint = Endpoint.from_settings("Anthropic", "ANTHROPIC", _ANTHROPIC_URL)
        self._endpoint.require_key()
        self._client = anthropic.AsyncAnthropic(
            api_key=self._endpoint.key,
            http_client=anthropic.DefaultAioHttpClient(verify=trusted_certificates(), limits=CONNECTIONS),
            **self._endpoint.client_options,
        )

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. A seed is refused, because the API has none and results must not claim one."""
        completed: Completed | None = None
        failure: ProviderError | None = None
        try:
            async with await self._request(model, messages, parameters) as events:
                request_id = events.response.headers.get("request-id", "")
                start: StartUsage | None = None
                async for event in events:
                    if event.type == "message_start":
                        start, model = event.message.usage, event.message.model
                        request_id = request_id or event.message.id
                    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                        yield TextDelta(event.delta.text)
                    elif event.type == "content_block_delta" and event.delta.type == "thinking_delta":
                        yield ReasoningDelta(event.delta.thinking)
                    elif event.type == "message_delta" and (reason := event.delta.stop_reason):
                        usage = usage_of(start, event.usage)
                        completed = Completed(usage, model, FINISH_REASONS.get(reason, reason), request_id)
        except (anthropic.AnthropicError, *CLIENT_ERRORS) as error:
            failure = self._endpoint.failure(error)
        if completed is None:
            # Raised here, not above: the SDK's exception must not become its context.
            raise failure or self._endpoint.incomplete_reply()
        yield completed

    async def _request(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> anthropic.AsyncStream[RawMessageStreamEvent]:
        # The SDK's methods do not accept the sampling parameters.
        body = self.body(model, messages, parameters)
        extra = {name: body.pop(name) for name in ("temperature", "top_p") if name in body}
        stream = await self._client.messages.create(stream=True, extra_body=extra, **body)
        return cast("anthropic.AsyncStream[RawMessageStreamEvent]", stream)

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """Return the body of the request, without the fields for a stream. Raises ProviderError for a seed."""
        if parameters.seed is not None:
            raise ProviderError("bad_request", "Anthropic's API accepts no seed: leave it out.")
        request: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": message.role, "content": message.content}
                for message in messages
                if message.role != "system"
            ],
            "max_tokens": parameters.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
        }
        if system := "\n\n".join(message.content for message in messages if message.role == "system"):
            request["system"] = system
        sampling = {"temperature": parameters.temperature, "top_p": parameters.top_p}
        return request | {name: value for name, value in sampling.items() if value is not None}

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        await self._client.close()


def usage_of(start: StartUsage | None, end: StartUsage | MessageDeltaUsage | None) -> TokenUsage:
    """Return the tokens of a reply: input tokens from its start, output tokens from its end.

    Anthropic excludes tokens that it reads from or writes to its cache from the input tokens; they are added here.
    """
    fresh = start.input_tokens if start else None
    cached = start.cache_read_input_tokens if start else None
    stored = start.cache_creation_input_tokens if start else None
    details = end.output_tokens_details if end else None
    return TokenUsage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (stored or 0),
        output_tokens=end.output_tokens if end else None,
        cached_input_tokens=cached,
        reasoning_tokens=details.thinking_tokens if details else None,
    )
