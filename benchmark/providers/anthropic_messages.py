"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
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
from benchmark.providers.registry import longest_reply, require_valid

_ANTHROPIC_URL = "https://api.anthropic.com"
_THINKING = frozenset({"thinking", "redacted_thinking"})
"""Types of the blocks that are sent back unchanged, before the text of their message."""

_SDK_FIELDS = frozenset({"model", "messages", "max_tokens", "system", "thinking", "output_config"})
"""Fields of a request that the SDK's method accepts."""
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
        thinking: dict[int, dict[str, Any]] = {}
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
                    elif event.type == "content_block_start" and event.content_block.type in _THINKING:
                        thinking[event.index] = event.content_block.to_dict()
                    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                        yield TextDelta(event.delta.text)
                    elif event.type == "content_block_delta" and event.delta.type == "thinking_delta":
                        block = thinking.setdefault(event.index, {"type": "thinking"})
                        block["thinking"] = block.get("thinking", "") + event.delta.thinking
                        yield ReasoningDelta(event.delta.thinking)
                    elif event.type == "content_block_delta" and event.delta.type == "signature_delta":
                        block = thinking.setdefault(event.index, {"type": "thinking", "thinking": ""})
                        block["signature"] = block.get("signature", "") + event.delta.signature
                    elif event.type == "message_delta" and (reason := event.delta.stop_reason):
                        completed = Completed(
                            usage=usage_of(start, event.usage),
                            model=model,
                            finish_reason=FINISH_REASONS.get(reason, reason),
                            request_id=request_id,
                            blocks=blocks_of(thinking.values()),
                        )
        except (anthropic.AnthropicError, *CLIENT_ERRORS) as error:
            failure = self._endpoint.failure(error)
        if completed is None:
            # Raised here, not above: the SDK's exception must not become its context.
            raise failure or self._endpoint.incomplete_reply()
        yield completed

    async def _request(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> anthropic.AsyncStream[RawMessageStreamEvent]:
        # The SDK's methods accept neither the sampling parameters nor extra fields.
        body = self.body(model, messages, parameters)
        extra = {name: body.pop(name) for name in body.keys() - _SDK_FIELDS}
        stream = await self._client.messages.create(stream=True, extra_body=extra, **body)
        return cast("anthropic.AsyncStream[RawMessageStreamEvent]", stream)

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """Return the body of the request, without the fields for a stream.

        Raises ProviderError for parameters that the API refuses.
        """
        require_valid("anthropic", parameters)
        reasoning = parameters.reasoning
        budget = reasoning if isinstance(reasoning, int) else 0
        request: dict[str, Any] = {
            "model": model,
            "messages": [_sent(message) for message in messages if message.role != "system"],
            "max_tokens": longest_reply("anthropic", parameters),
        }
        if system := "\n\n".join(message.content for message in messages if message.role == "system"):
            request["system"] = system
        if budget:
            request["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif reasoning is not None:
            # Newer models leave the text of their thinking out by default.
            request["thinking"] = {"type": "adaptive", "display": "summarized"}
            request["output_config"] = {"effort": reasoning}
        sampling = {"temperature": parameters.temperature, "top_p": parameters.top_p}
        given = {name: value for name, value in sampling.items() if value is not None}
        return request | given | dict(parameters.extra or {})

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


def blocks_of(content: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the blocks of a reply that the next request sends back; an unsigned one is not accepted there."""
    return tuple(
        block
        for block in content
        if block["type"] in _THINKING and (block.get("signature") or block["type"] == "redacted_thinking")
    )


def _sent(message: Message) -> dict[str, Any]:
    """Return the message as it is sent: its blocks of thinking, then its text."""
    thinking = [dict(block) for block in message.blocks if block.get("type") in _THINKING]
    if not thinking:
        return {"role": message.role, "content": message.content}
    return {"role": message.role, "content": [*thinking, {"type": "text", "text": message.content}]}
