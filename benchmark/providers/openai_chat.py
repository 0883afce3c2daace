"""OpenAI's chat completions, and any server with their format (Ollama, vLLM, llama.cpp …)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.providers.endpoint import Endpoint
from benchmark.providers.openai_client import OPENAI_URL, OpenAIClient, openai_endpoint
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TokenUsage,
)
from benchmark.providers.registry import require_valid

CHAT_FIELDS = {
    "reasoning": "reasoning_effort",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
}
"""The request's fields by parameter; the name of the limit depends on the server."""


class ChatCompletions(OpenAIClient):
    """A client for streamed chat completions of one endpoint."""

    provider: str
    path = "/chat/completions"
    stream_fields = {"stream": True, "stream_options": {"include_usage": True}}

    def __init__(self, endpoint: Endpoint, limit_name: str) -> None:
        """`limit_name` is the request's field for the longest reply."""
        super().__init__(endpoint)
        self._limit_name = limit_name

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """See `OpenAIClient.body`."""
        require_valid(self.provider, parameters)
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        names = CHAT_FIELDS | {"max_output_tokens": self._limit_name}
        given = parameters.to_json()
        extra = given.pop("extra", {})
        return request | {names[name]: value for name, value in given.items()} | dict(extra)

    def reader(self, model: str, request_id: str) -> _ChatReader:
        """See `OpenAIClient.reader`."""
        return _ChatReader(model, request_id)

    def read_whole(self, reply: Mapping[str, Any], request_id: str) -> tuple[StreamEvent, ...]:
        """See `OpenAIClient.read_whole`."""
        choice = reply["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal") or ""
        completed = Completed(
            usage=_usage_of(reply.get("usage")),
            model=reply["model"],
            finish_reason=_finish_reason_of(choice["finish_reason"], refusal),
            request_id=request_id or reply.get("id") or "",
        )
        reasoning, text = _reasoning_of(message), message.get("content") or refusal
        return (
            *([ReasoningDelta(reasoning)] if reasoning else []),
            *([TextDelta(text)] if text else []),
            completed,
        )


class OpenAIProvider(ChatCompletions):
    """OpenAI's service, or a proxy in front of it (OPENAI_BASE_URL)."""

    provider = "openai"

    def __init__(self) -> None:
        endpoint = openai_endpoint()
        # OpenAI's newer models refuse `max_tokens`; most other servers accept nothing else.
        super().__init__(endpoint, "max_completion_tokens" if endpoint.url == OPENAI_URL else "max_tokens")


class CompatibleProvider(ChatCompletions):
    """Any server with OpenAI's wire format (COMPATIBLE_BASE_URL or a named endpoint), with or without a key."""

    provider = "compatible"

    def __init__(self, endpoint: str = "") -> None:
        """`endpoint` is the name of a server in MODEL_ENDPOINTS; blank: COMPATIBLE_BASE_URL."""
        server = (
            Endpoint.named(endpoint)
            if endpoint
            else Endpoint.from_settings("Compatible server", "COMPATIBLE", "")
        )
        super().__init__(server, "max_tokens")


class _ChatReader:
    """The reader of one streamed chat completion."""

    def __init__(self, model: str, request_id: str) -> None:
        self.completed: Completed | None = None
        self._model = model
        self._request_id = request_id
        self._usage: Mapping[str, Any] | None = None
        self._finish_reason = self._refusal = ""

    def read(self, chunk: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """See `ReplyReader.read`."""
        for choice in chunk.get("choices") or ():
            delta = choice["delta"]
            if reasoning := _reasoning_of(delta):
                yield ReasoningDelta(reasoning)
            if text := delta.get("content") or delta.get("refusal"):
                yield TextDelta(text)
            self._refusal = self._refusal or (delta.get("refusal") or "")
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._usage = chunk.get("usage") or self._usage
        if self._finish_reason:
            # The usage comes in one more chunk; without it the reply is still complete.
            self.completed = Completed(
                usage=_usage_of(self._usage),
                model=chunk.get("model") or self._model,
                finish_reason=_finish_reason_of(self._finish_reason, self._refusal),
                request_id=self._request_id or chunk.get("id") or "",
            )


def _reasoning_of(delta: Mapping[str, Any]) -> str:
    """Return the visible reasoning of a delta, in the field that vLLM, DeepSeek and Ollama add to OpenAI's format."""
    reasoning = delta.get("reasoning_content") or delta.get("reasoning")
    return reasoning if isinstance(reasoning, str) else ""


def _finish_reason_of(reported: str, refusal: str) -> str:
    """Return the finish reason of a reply in the form of `Completed`."""
    return "refusal" if refusal or reported == "content_filter" else reported


def _usage_of(usage: Mapping[str, Any] | None) -> TokenUsage:
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
