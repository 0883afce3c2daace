"""OpenAI's Responses API, which returns summaries of the reasoning, and servers with its format.

Nothing is stored at the provider. The encrypted reasoning items of a reply are its blocks, which the next request of
the conversation sends back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.providers.endpoint import Endpoint
from benchmark.providers.openai_client import OpenAIClient, openai_endpoint
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

_ENDS = ("response.completed", "response.incomplete")
_REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "refusal"}


class OpenAIResponses(OpenAIClient):
    """OpenAI's service, a proxy in front of it (OPENAI_BASE_URL), or a named endpoint."""

    path = "/responses"

    def __init__(self, endpoint: str = "") -> None:
        """`endpoint` is the name of a server in MODEL_ENDPOINTS; blank: OpenAI."""
        super().__init__(Endpoint.named(endpoint) if endpoint else openai_endpoint())

    def body(self, model: str, messages: Sequence[Message], parameters: Parameters) -> dict[str, Any]:
        """See `OpenAIClient.body`."""
        require_valid("openai-responses", parameters)
        items: list[Mapping[str, Any]] = []
        for message in messages:
            items += [block for block in message.blocks if block.get("type") == "reasoning"]
            items.append({"role": message.role, "content": message.content})
        given = parameters.to_json()
        effort, extra = given.pop("reasoning", None), given.pop("extra", {})
        request: dict[str, Any] = {"model": model, "input": items, "store": False}
        if effort is not None:
            # Models without reasoning refuse both fields.
            request["reasoning"] = {"effort": effort, "summary": "auto"}
            request["include"] = ["reasoning.encrypted_content"]
        return request | given | dict(extra)

    def reader(self, model: str, request_id: str) -> _ResponseReader:
        """See `OpenAIClient.reader`."""
        return _ResponseReader(model, request_id)

    def read_whole(self, reply: Mapping[str, Any], request_id: str) -> tuple[StreamEvent, ...]:
        """See `OpenAIClient.read_whole`."""
        if error := reply.get("error"):
            raise self._endpoint.batch_error(error)
        events: list[StreamEvent] = []
        for item in reply["output"]:
            if item["type"] == "reasoning":
                parts = [part["text"] for part in item.get("summary") or item.get("content") or ()]
                events += [ReasoningDelta("\n\n".join(parts))] if parts else []
            elif item["type"] == "message":
                events += [TextDelta(text) for part in item["content"] if (text := _text_of(part))]
        return (*events, _completed(reply, reply["output"], "", request_id))


class _ResponseReader:
    """The reader of one streamed response."""

    def __init__(self, model: str, request_id: str) -> None:
        self.completed: Completed | None = None
        self._model = model
        self._request_id = request_id
        self._items: list[Mapping[str, Any]] = []

    def read(self, chunk: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """See `ReplyReader.read`."""
        kind = chunk["type"]
        if kind in _TEXT:
            yield TextDelta(chunk["delta"])
        elif kind in _REASONING:
            yield ReasoningDelta(chunk["delta"])
        elif kind == "response.reasoning_summary_part.added" and chunk.get("summary_index"):
            yield ReasoningDelta("\n\n")
        elif kind == "response.output_item.done":
            self._items.append(chunk["item"])
        elif kind in _ENDS:
            self.completed = _completed(chunk["response"], self._items, self._model, self._request_id)


def _completed(
    response: Mapping[str, Any], items: Sequence[Mapping[str, Any]], model: str, request_id: str
) -> Completed:
    """Return the last event of a response with these output items."""
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    refused = any(part["type"] == "refusal" for part in parts)
    reason = (response.get("incomplete_details") or {}).get("reason") or "stop"
    return Completed(
        usage=_usage_of(response.get("usage")),
        model=response.get("model") or model,
        finish_reason="refusal" if refused else _FINISH_REASONS.get(reason, reason),
        request_id=request_id or response.get("id") or "",
        blocks=tuple(_block_of(item) for item in items if item.get("encrypted_content")),
    )


def _block_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reasoning item in the form of an input: the API refuses some of its fields if they are null."""
    return {name: value for name, value in item.items() if value is not None}


def _text_of(part: Mapping[str, Any]) -> str:
    """Return the text of a part of a message; a refusal has another field for it."""
    return str(part.get("text") or part.get("refusal") or "")


def _usage_of(usage: Mapping[str, Any] | None) -> TokenUsage:
    """Return the tokens of a reply; those that the server does not report are None."""
    if usage is None:
        return TokenUsage(None, None, None, None)
    return TokenUsage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cached_input_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens"),
        reasoning_tokens=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
    )
