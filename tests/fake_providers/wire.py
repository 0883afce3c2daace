"""The wire formats: events of a streamed reply, whole replies, and errors."""

from __future__ import annotations

import json
import zlib
from typing import Any

from tests.fake_providers.scripts import Script, Tokens

_COMMON_FIELDS = frozenset(["model", "stream", "temperature", "top_p", "service_tier", "metadata"])
_SERVER_FIELDS = frozenset(["min_p", "chat_template_kwargs"])
"""Fields of servers with OpenAI's format that OpenAI does not have."""

_OPENAI_FIELDS = _COMMON_FIELDS | {
    "messages", "max_tokens", "stream_options", "seed", "max_completion_tokens", "reasoning_effort", "verbosity",
}  # fmt: skip
_RESPONSES_FIELDS = _COMMON_FIELDS | {"input", "max_output_tokens", "store", "include", "reasoning", "text"}
_ANTHROPIC_FIELDS = _COMMON_FIELDS | {
    "messages",
    "max_tokens",
    "system",
    "thinking",
    "output_config",
    "top_k",
}
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
        unknown = self.body.keys() - _OPENAI_FIELDS - _SERVER_FIELDS
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


class Responses:
    """The wire format of POST /v1/responses."""

    request_id_header = "x-request-id"

    def __init__(self, body: dict[str, Any], model: str) -> None:
        self.body, self.model = body, model
        self._thought = self._text = ""

    def rejection(self) -> str:
        """Return the reason for which the real service would reject the request, or ""."""
        if unknown := self.body.keys() - _RESPONSES_FIELDS:
            return f"Unknown parameter: {sorted(unknown)}"
        items = [item for item in self.body["input"] if item.get("type") == "reasoning"]
        if any(item["encrypted_content"] != signature(_summary(item)) for item in items):
            return "The encrypted content could not be verified."
        return ""

    def _named(self, name: str, **data: Any) -> str:
        return _event({"type": name, "sequence_number": 1} | data, name)

    def _response(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": self.model,
            "status": status,
        } | ({"error": None, "incomplete_details": None, "output": [], "usage": None} | more)

    def opening(self, tokens: Tokens | None) -> str:
        response = self._response("in_progress")
        return self._named("response.created", response=response) + self._named(
            "response.in_progress", response=response
        )

    def reasoning(self, text: str) -> str:
        start = ""
        if not self._thought:
            item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "partial"}
            start = self._named("response.output_item.added", output_index=0, item=item)
            part = {"type": "summary_text", "text": ""}
            start += self._named("response.reasoning_summary_part.added", summary_index=0, part=part)
        self._thought += text
        return start + self._named("response.reasoning_summary_text.delta", summary_index=0, delta=text)

    def piece(self, text: str) -> str:
        self._text += text
        return self._named("response.output_text.delta", content_index=0, delta=text)

    def ending(self, script: Script) -> str:
        response = self._ended(script)
        events = [
            self._named("response.output_item.done", output_index=index, item=item)
            for index, item in enumerate(response["output"])
        ]
        return "".join(events) + self._named(f"response.{response['status']}", response=response)

    def _ended(self, script: Script) -> dict[str, Any]:
        output = [_message_item("".join(script.pieces))]
        if script.reasoning:
            output.insert(0, self._reasoning_item("".join(script.reasoning)))
        details = {"length": {"reason": "max_output_tokens"}, "refusal": {"reason": "content_filter"}}.get(
            script.finish
        )
        return self._response(
            "incomplete" if details else "completed",
            output=output,
            incomplete_details=details,
            usage=self._usage(script.tokens) if script.tokens else None,
        )

    def _reasoning_item(self, thought: str) -> dict[str, Any]:
        included = "reasoning.encrypted_content" in self.body.get("include", ())
        return {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": thought}],
            "encrypted_content": signature(thought) if included else None,
            "status": None,
        }

    def _usage(self, tokens: Tokens) -> dict[str, Any]:
        return {
            "input_tokens": tokens.input,
            "output_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }

    def error(self, kind: str, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind, "code": None, "param": None}}

    def error_event(self, kind: str) -> str:
        return self._named("error", code=kind, message="Scripted failure in mid-stream.", param=None)

    def whole(self, script: Script) -> dict[str, Any]:
        return self._ended(script)


def _message_item(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _summary(item: dict[str, Any]) -> str:
    return "".join(part["text"] for part in item["summary"])


def signature(thought: str) -> str:
    """Return the signature, or the encrypted form, of a model's reasoning."""
    return f"signed-{zlib.crc32(thought.encode()):08x}"


class Anthropic:
    """The wire format of POST /v1/messages."""

    request_id_header = "request-id"

    def __init__(self, body: dict[str, Any], model: str) -> None:
        self.body, self.model = body, model
        self._index = -1
        self._thought = ""

    def rejection(self) -> str:
        """Return the reason for which the real service would reject the request, or ""."""
        if unknown := self.body.keys() - _ANTHROPIC_FIELDS:
            return f"{sorted(unknown)}: Extra inputs are not permitted"
        if "max_tokens" not in self.body:
            return "max_tokens: Field required"
        wrong = [message for message in self.body["messages"] if message["role"] not in ("user", "assistant")]
        return "messages: Unexpected role" if wrong else self._thinking_rejection()

    def _thinking_rejection(self) -> str:
        """Return the reason for which the real service would reject thinking, or ""."""
        contents = [content for one in self.body["messages"] if isinstance(content := one["content"], list)]
        for block in (block for content in contents for block in content):
            if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
                return "messages: Invalid `signature` in `thinking` block"
        thinking = self.body.get("thinking")
        if thinking is None:
            return ""
        if thinking["type"] == "enabled" and not 1024 <= thinking["budget_tokens"] < self.body["max_tokens"]:
            return "`max_tokens` must be greater than `thinking.budget_tokens`"
        if self.body.get("temperature", 1) != 1:
            return "`temperature` may only be set to 1 when thinking is enabled"
        return ""

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
        return self._named("content_block_delta", index=self._index, delta={"type": kind} | delta)

    def _start(self, block: dict[str, Any]) -> str:
        """Return the start of a block, after the end of the block before it."""
        events = self._end() if self._index >= 0 else ""
        self._index += 1
        return events + self._named("content_block_start", index=self._index, content_block=block)

    def _end(self) -> str:
        """Return the end of the current block; thinking is signed."""
        events = self._delta("signature_delta", signature=signature(self._thought)) if self._thought else ""
        self._thought = ""
        return events + self._named("content_block_stop", index=self._index)

    def reasoning(self, text: str) -> str:
        start = "" if self._thought else self._start({"type": "thinking", "thinking": "", "signature": ""})
        self._thought += text
        return start + self._delta("thinking_delta", thinking=text)

    def piece(self, text: str) -> str:
        start = self._start({"type": "text", "text": ""}) if self._thought or self._index < 0 else ""
        return start + self._delta("text_delta", text=text)

    def ending(self, script: Script) -> str:
        events = self._end() if self._index >= 0 else ""
        if script.redacted:
            redacted = {"type": "redacted_thinking", "data": script.redacted}
            events = f"{events}{self._start(redacted)}{self._end()}"
        return events + self._message_end(script)

    def _message_end(self, script: Script) -> str:
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
            thought = "".join(script.reasoning)
            content.insert(0, {"type": "thinking", "thinking": thought, "signature": signature(thought)})
        return self._message | {
            "stop_reason": _ANTHROPIC_FINISH[script.finish],
            "content": content,
            "usage": usage,
        }


Wire = OpenAI | Responses | Anthropic
WIRES: dict[str, type[Wire]] = {
    "/v1/chat/completions": OpenAI,
    "/v1/responses": Responses,
    "/v1/messages": Anthropic,
}
"""The wire format of each path."""
