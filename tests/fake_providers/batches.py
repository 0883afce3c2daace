"""The batches of both providers: OpenAI's files and batches, Anthropic's message batches."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fake_providers.scripts import BatchScript, Hold, Script
from tests.fake_providers.wire import WIRES, Anthropic, OpenAI, Wire

_PATHS = ("/v1/files", "/v1/batches", "/v1/messages/batches")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass
class HttpRequest:
    """One HTTP request; `address` is the URL of the server as the client sees it."""

    method: str
    path: str
    content: bytes
    address: str


@dataclass
class _Batch:
    id: str
    script: BatchScript
    requests: list[tuple[str, dict[str, Any], Script]]
    details: dict[str, Any]
    created: float = field(default_factory=time.time)
    polled: int = 0
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        held = self.script.hold and not self.script.hold.released.is_set()
        return self.cancelled or (self.polled > self.script.polls and not held)

    @property
    def answered(self) -> int:
        """Return the number of answered requests; a cancelled batch answers half of them."""
        if self.script.invalid:
            return 0
        return len(self.requests) // 2 if self.cancelled else len(self.requests) - self.script.expired


class Batches:
    """All batches of a server. Results come in another order than the requests."""

    def __init__(
        self, next_script: Callable[[dict[str, Any]], Script], count: Callable[[str, dict[str, Any]], None]
    ) -> None:
        self.scripts: deque[BatchScript] = deque()
        self.created: list[_Batch] = []
        self.offered = True
        self._files: dict[str, bytes] = {}
        self._next_script = next_script
        self._count = count

    def reset(self) -> None:
        self.scripts.clear()
        self.created.clear()
        self._files.clear()
        self.offered = True

    def handles(self, path: str) -> bool:
        return self.offered and path.partition("?")[0].startswith(_PATHS)

    async def answer(
        self, call: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; return False if the connection is closed."""
        url = urlsplit(call.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = url.path.removeprefix("/v1/").removeprefix("messages/").split("/")
        openai = not url.path.startswith("/v1/messages")
        wire = _OpenAIBatches(self, call) if openai else _AnthropicBatches(self, call)
        if (call.method, parts) != ("POST", ["batches"]):
            return await _send(reader, writer, *self._reply(wire, call, parts, query))
        script = self.scripts.popleft() if self.scripts else BatchScript()
        status, document = self._created(wire, script)
        if script.confirmation:
            await wait_for(script.confirmation, reader)
        if script.lost:
            return False
        return await _send(reader, writer, status, _json(document), None)

    def _created(self, wire: _Wire, script: BatchScript) -> tuple[int, dict[str, Any]]:
        """Create a batch as the script says; return status and body of the reply."""
        if script.rejection:
            return script.rejection.status, wire.error(script.rejection.error, "Scripted failure.")
        if rejection := wire.create(script):
            return 400, wire.error("invalid_request_error", rejection)
        return 200, wire.as_json(self.created[-1])

    def _reply(
        self, wire: _Wire, call: HttpRequest, parts: list[str], query: dict[str, str]
    ) -> tuple[int, bytes, Hold | None]:
        """Return status, body and pause of the reply to any other request."""
        hold: Hold | None = None
        status, body = 200, b""
        match call.method, parts:
            case "POST", ["files"]:
                body = _json(self._upload(call.content))
            case "GET", ["files", name, "content"]:
                body, hold = self._files[name], self.created[-1].script.results
            case "GET", ["batches"]:
                body = _json(wire.page([wire.as_json(batch) for batch in reversed(self.created)], query))
            case "GET", ["batches", name]:
                batch = self._batch(name)
                batch.polled += 1
                body = _json(wire.as_json(batch))
            case "GET", ["batches", name, "results"] if isinstance(wire, _AnthropicBatches):
                batch = self._batch(name)
                body, hold = wire.results(batch), batch.script.results
            case "POST", ["batches", name, "cancel"]:
                batch = self._batch(name)
                if batch.ended:
                    status, body = 409, _json(wire.error("invalid_request_error", "The batch has ended."))
                else:
                    batch.cancelled = True
                    body = _json(wire.as_json(batch))
            case _:
                status, body = 404, _json(wire.error("not_found_error", f"No such path: {call.path}"))
        return status, body, hold

    def _batch(self, name: str) -> _Batch:
        return next(batch for batch in self.created if batch.id == name)

    def _upload(self, content: bytes) -> dict[str, Any]:
        """Store the file of a multipart form and return its record."""
        boundary = content.split(b"\r\n", 1)[0]
        fields = {
            re.search(rb'name="(\w+)"', head)[1].decode(): value.removesuffix(b"\r\n")  # type: ignore[index]
            for head, _, value in (part.partition(b"\r\n\r\n") for part in content.split(boundary)[1:-1])
        }
        assert fields["purpose"] == b"batch"
        name = f"file-{len(self._files)}"
        self._files[name] = fields["file"]
        return {
            "id": name,
            "object": "file",
            "bytes": len(fields["file"]),
            "created_at": int(time.time()),
        } | {
            "filename": "requests.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def create(
        self, script: BatchScript, path: str, requests: list[tuple[str, dict[str, Any]]], **details: Any
    ) -> None:
        """Create a batch and count its requests as paid."""
        scripted = []
        for name, body in requests:
            if not script.invalid:
                self._count(path, body)
            scripted.append((name, body, self._next_script(body)))
        prefix = "batch_" if path in _OpenAIBatches.paths else "msgbatch_"
        self.created.append(_Batch(f"{prefix}{len(self.created)}", script, scripted, details))

    def file(self, name: str, lines: list[dict[str, Any]]) -> str | None:
        self._files[name] = _lines(lines)
        return name if lines else None

    def uploaded(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._files[name].splitlines()]


class _OpenAIBatches:
    """The wire format of /v1/batches."""

    paths = ("/v1/chat/completions", "/v1/responses")

    def __init__(self, batches: Batches, call: HttpRequest) -> None:
        self.batches, self.call = batches, call

    def create(self, script: BatchScript) -> str:
        """Create the batch; return the reason for a rejection, or "". The lines of the file are validated later."""
        document = json.loads(self.call.content)
        path = document["endpoint"]
        if path not in self.paths or document["completion_window"] != "24h":
            return "Unknown endpoint or window."
        lines = self.batches.uploaded(document["input_file_id"])
        assert all((line["method"], line["url"]) == ("POST", path) for line in lines)
        names = [line["custom_id"] for line in lines]
        models = {line["body"]["model"] for line in lines}
        assert len(set(names)) == len(names)
        assert len(models) == 1
        requests = [(line["custom_id"], line["body"]) for line in lines]
        self.batches.create(script, path, requests, **document)
        return ""

    def as_json(self, batch: _Batch) -> dict[str, Any]:
        status, moment = "in_progress", "in_progress_at"
        files: dict[str, Any] = {"output_file_id": None, "error_file_id": None}
        if batch.ended and batch.script.invalid:
            status, moment = "failed", "failed_at"
            error = {"code": batch.script.invalid, "message": "Rejected.", "line": None, "param": None}
            files["errors"] = {"object": "list", "data": [error]}
        elif batch.ended:
            status = "cancelled" if batch.cancelled else "expired" if batch.script.expired else "completed"
            moment = f"{status}_at"
            lines = [self._line(batch, index) for index in range(len(batch.requests))]
            failed = [line for line in lines if line["error"] or line["response"]["status_code"] >= 400]
            succeeded = [line for line in lines if line not in failed]
            files["output_file_id"] = self.batches.file(f"{batch.id}-output", succeeded[::-1])
            files["error_file_id"] = self.batches.file(f"{batch.id}-error", failed[::-1])
        done = batch.answered if batch.ended else min(batch.polled, len(batch.requests))
        counts = {"total": len(batch.requests), "completed": done, "failed": 0}
        return {"id": batch.id, "object": "batch", "status": status, "request_counts": counts} | (
            {"created_at": int(batch.created), moment: int(time.time())} | batch.details | files
        )

    def _line(self, batch: _Batch, index: int) -> dict[str, Any]:
        name, body, script = batch.requests[index]
        line: dict[str, Any] = {
            "id": f"batch_req_{index}",
            "custom_id": name,
            "response": None,
            "error": None,
        }
        if index >= batch.answered:
            code = "batch_cancelled" if batch.cancelled else "batch_expired"
            return line | {"error": {"code": code, "message": "This request was not executed."}}
        wire = WIRES[batch.details["endpoint"]](body, f"{body['model'][:60]}@fake")
        status, answer = _alone(wire, script)
        return line | {
            "response": {"status_code": status, "request_id": f"{batch.id}_{index}", "body": answer}
        }

    def page(self, documents: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
        return {"object": "list"} | _page(documents, query.get("after"), int(query.get("limit", 20)))

    def error(self, kind: str, message: str) -> dict[str, Any]:
        return OpenAI({}, "").error(kind, message)


class _AnthropicBatches:
    """The wire format of /v1/messages/batches."""

    def __init__(self, batches: Batches, call: HttpRequest) -> None:
        self.batches, self.call = batches, call

    def create(self, script: BatchScript) -> str:
        """Create the batch; return the reason for a rejection, or ""."""
        submitted = json.loads(self.call.content)["requests"]
        names = [request["custom_id"] for request in submitted]
        if not all(map(_NAME.fullmatch, names)):
            return "custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
        if len(set(names)) < len(names):
            return "custom_id: they must be unique"
        requests = [(request["custom_id"], request["params"]) for request in submitted]
        self.batches.create(script, "/v1/messages", requests)
        return ""

    def as_json(self, batch: _Batch) -> dict[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        kinds = [self._result(batch, index)["type"] for index in range(len(batch.requests))]
        for kind in kinds:
            counts[kind if batch.ended else "processing"] += 1
        results = f"{self.call.address}/v1/messages/batches/{batch.id}/results"
        created = datetime.fromtimestamp(batch.created, UTC)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": counts,
            "created_at": created.isoformat(),
            "expires_at": created.isoformat(),
            "ended_at": datetime.now(UTC).isoformat() if batch.ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": results if batch.ended else None,
        }

    def _result(self, batch: _Batch, index: int) -> dict[str, Any]:
        _, body, script = batch.requests[index]
        if index >= batch.answered:
            return {"type": "canceled" if batch.cancelled else "expired"}
        status, answer = _alone(Anthropic(body, f"{body['model'][:60]}@fake"), script)
        if status >= 400:
            return {"type": "errored", "error": answer}
        return {"type": "succeeded", "message": answer | {"id": f"msg_{batch.id}_{index}"}}

    def results(self, batch: _Batch) -> bytes:
        return _lines(
            [
                {"custom_id": batch.requests[index][0], "result": self._result(batch, index)}
                for index in reversed(range(len(batch.requests)))
            ]
        )

    def page(self, documents: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
        return _page(documents, query.get("after_id"), int(query.get("limit", 20)))

    def error(self, kind: str, message: str) -> dict[str, Any]:
        return Anthropic({}, "").error(kind, message)


_Wire = _OpenAIBatches | _AnthropicBatches


def _alone(wire: Wire, script: Script) -> tuple[int, dict[str, Any]]:
    """Return status and body of the reply to one request."""
    if script.status >= 400:
        return script.status, wire.error(script.error, "Scripted failure.")
    if rejection := wire.rejection():
        return 400, wire.error("invalid_request_error", rejection)
    return 200, wire.whole(script)


def _page(documents: list[dict[str, Any]], after: str | None, limit: int) -> dict[str, Any]:
    ids = [batch["id"] for batch in documents]
    rest = documents[ids.index(after) + 1 :] if after else documents
    page = rest[:limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
    return {"data": page, "has_more": len(rest) > limit, "first_id": None, "last_id": None} | ends


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


def _lines(documents: list[dict[str, Any]]) -> bytes:
    return b"".join(_json(document) + b"\n" for document in documents)


async def wait_for(hold: Hold, reader: asyncio.StreamReader) -> None:
    """Wait until the hold is released. Raises ConnectionResetError if the client disconnects."""
    while not hold.released.is_set():
        if reader.at_eof():
            raise ConnectionResetError
        await asyncio.sleep(0.01)


async def _send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int, body: bytes, hold: Hold | None
) -> bool:
    head = f"HTTP/1.1 {status} Fake\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    lines = body.splitlines(keepends=True)
    first = lines[: hold.after] if hold else lines
    writer.write(head.encode() + b"".join(first))
    await writer.drain()
    if hold:
        await wait_for(hold, reader)
        writer.write(b"".join(lines[hold.after :]))
        await writer.drain()
    return True
