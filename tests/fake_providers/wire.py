"""The two wire formats: events of a streamed reply, whole replies, and errors."""

from __future__ import annotations

import json
from typing import Any

from tests.fake_providers.scripts import Script, Tokens

_COMMON_FIELDS = frozenset(["model", "messages", "stream", "max_tokens", "temperature", "top_p"])
_OPENAI_FIELDS = _COMMON_FIELDS | {"stream_options", "seed", "max_completion_tokens"}
_ANTHROPIC_FIELDS = _COMMON_FIELDS | {"system"}
_ANTHROPIC_FINISH = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}


def _event(data: dict[str, Any], name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


class OpenAI:
    """The wire format of POST /v1/chat/completions."""

    request_id_header = "x-request-id"

    def __init__(self, body: dict[str, Any], model: str) -> None:
        self.body, self.model = body, model

    def rejection(self) -> str:
        """Return the reason for which the real service would reject the request, or ""."""
        unknown = self.body.keys() - _OPENAI_FIELDS
        return f"Unrecognized request argument supplied: {sorted(unknown)}" if unknown else ""

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> str:
        return _event(
            {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": self.model}
            | {"choices": choices}
            | more
        )

    def _delta(self, **delta: str) -> str:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def opening(self, tokens: Tokens | None) -> str:
        return self._delta(role="assistant", content="")

    def reasoning(self, text: str) -> str:
        return self._delta(reasoning_content=text)

    def piece(self, text: str) -> str:
        return self._delta(content=text)

    def ending(self, script: Script) -> str:
        finish = "content_filter" if script.finish == "refusal" else script.finish
        events = self._chunk([{"index": 0, "delta": {}, "finish_reason": finish}])
        if script.tokens and (self.body.get("stream_options") or {}).get("include_usage"):
            events += self._chunk([], usage=self._usage(script.tokens))
        return events + "data: [DONE]\n\n"

    def _usage(self, tokens: Tokens) -> dict[str, Any]:
        return {
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "prompt_tokens_details": {"cached_tokens": tokens.cached},
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }

    def error(self, kind: str, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind, "code": None, "param": None}}

    def error_event(self, kind: str) -> str:
        return _event(self.error(kind, "Scripted failure in mid-stream."))

    def whole(self, script: Script) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(script.pieces), "refusal": None}
        if script.reasoning:
            message["reasoning_content"] = "".join(script.reasoning)
        finish = "content_filter" if script.finish == "refusal" else script.finish
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": self._usage(script.tokens) if script.tokens else None,
        }


class Anthropic:
    """The wire format of POST /v1/messages."""

    request_id_header = "request-id"

    def __init__(self, body: dict[str, Any], model: str) -> None:
        self.body, self.model = body, model

    def rejection(self) -> str:
        """Return the reason for which the real service would reject the request, or ""."""
        if unknown := self.body.keys() - _ANTHROPIC_FIELDS:
            return f"{sorted(unknown)}: Extra inputs are not permitted"
        if "max_tokens" not in self.body:
            return "max_tokens: Field required"
        wrong = [message for message in self.body["messages"] if message["role"] not in ("user", "assistant")]
        return "messages: Unexpected role" if wrong else ""

    def opening(self, tokens: Tokens | None) -> str:
        usage = {"output_tokens": 1} | (self._input_usage(tokens) if tokens else {})
        message: dict[str, Any] = {"stop_reason": None, "stop_sequence": None, "content": [], "usage": usage}
        return self._named("message_start", message=self._message | message) + self._named("ping")

    @property
    def _message(self) -> dict[str, Any]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model}

    def _input_usage(self, tokens: Tokens) -> dict[str, Any]:
        return {"input_tokens": tokens.input - tokens.cached, "cache_read_input_tokens": tokens.cached}

    def _output_usage(self, tokens: Tokens) -> dict[str, Any]:
        return {
            "output_tokens": tokens.output,
            "output_tokens_details": {"thinking_tokens": tokens.reasoning},
        }

    def _named(self, name: str, **data: Any) -> str:
        return _event({"type": name} | data, name)

    def _delta(self, kind: str, **delta: str) -> str:
        return self._named("content_block_delta", index=0, delta={"type": kind} | delta)

    def reasoning(self, text: str) -> str:
        return self._delta("thinking_delta", thinking=text)

    def piece(self, text: str) -> str:
        return self._delta("text_delta", text=text)

    def ending(self, script: Script) -> str:
        usage = self._output_usage(script.tokens) if script.tokens else {}
        delta = {"stop_reason": _ANTHROPIC_FINISH[script.finish], "stop_sequence": None}
        return self._named("message_delta", delta=delta, usage=usage) + self._named("message_stop")

    def error(self, kind: str, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, kind: str) -> str:
        return _event(self.error(kind, "Scripted failure in mid-stream."), "error")

    def whole(self, script: Script) -> dict[str, Any]:
        usage = self._input_usage(script.tokens) | self._output_usage(script.tokens) if script.tokens else {}
        content = [{"type": "text", "text": "".join(script.pieces)}]
        if script.reasoning:
            content.insert(0, {"type": "thinking", "thinking": "".join(script.reasoning), "signature": ""})
        return self._message | {
            "stop_reason": _ANTHROPIC_FINISH[script.finish],
            "content": content,
            "usage": usage,
        }
