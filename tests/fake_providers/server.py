"""A local server that speaks OpenAI's and Anthropic's APIs, for tests with the real SDKs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.fake_providers.batches import Batches, HttpRequest, wait_for
from tests.fake_providers.scripts import NOW, BatchScript, Script, failure, script_for
from tests.fake_providers.wire import WIRES, Wire


@dataclass
class Request:
    """One received call, alone or in a batch. `left_at`: epoch seconds of an early disconnect."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    left_at: float | None = None

    @property
    def client_left(self) -> bool:
        return self.left_at is not None


class FakeProviders:
    """A server in its own thread that sends the scripts queued by `script(...)`, then those that model names select."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.batches = Batches(self._next_script, self._count)
        self.port = 0
        self._queue: deque[Script] = deque()
        self._seen: set[str] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="fake_providers")

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.anthropic_url}/v1"

    def script(self, *scripts: Script) -> None:
        """Queue replies, one for each of the next calls of any model."""
        self._queue.extend(scripts)

    def batch(self, *scripts: BatchScript) -> None:
        """Queue scripts for the next batches; a batch without a script ends at once."""
        self.batches.scripts.extend(scripts)

    def _count(self, path: str, body: dict[str, Any]) -> None:
        self.requests.append(Request(path, {}, body))

    def reset(self) -> None:
        """Delete all calls, batches and scripts, and drop every open connection."""
        self.requests.clear()
        self.batches.reset()
        self._queue.clear()
        self._seen.clear()
        self._loop.call_soon_threadsafe(self._drop_connections)

    def start(self, port: int = 0) -> None:
        self.port = self._loop.run_until_complete(self._listen(port))
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._end_tasks())
        self._loop.close()

    async def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _drop_connections(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _listen(self, port: int) -> int:
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the calls of one connection until either side closes it."""
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._answer(reader, writer):
                pass
        self._writers.discard(writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one call; return False if the connection is closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:]) if name
        }
        method, path, _ = head[0].split(" ")
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        if self.batches.handles(path):
            http_request = HttpRequest(method, path, content, f"http://{headers['host']}")
            return await self.batches.answer(http_request, reader, writer)
        if path not in WIRES:
            return await _send(writer, 404, {"error": {"message": f"No such path: {path}"}}, {})
        body = json.loads(content or "{}")
        request = Request(path, headers, body)
        self.requests.append(request)
        wire = WIRES[path](body, f"{body['model'][:60]}@fake")
        answer_headers = {wire.request_id_header: f"req_{len(self.requests)}"}
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        script = failure(401) if "wrong" in key else self._next_script(body)
        if script.status >= 400 or wire.rejection() or not body.get("stream"):
            status, document = _whole_reply(wire, script, key)
            return await _send(writer, status, document, answer_headers | dict(script.headers))
        try:
            return await _stream(reader, writer, wire, script, answer_headers)
        except ConnectionError:
            request.left_at = time.time()
            return False

    def _next_script(self, body: dict[str, Any]) -> Script:
        if self._queue:
            return self._queue.popleft()
        messages = body.get("messages") or body["input"]
        call = json.dumps([body["model"], messages])
        first_time = call not in self._seen
        self._seen.add(call)
        return script_for(body["model"], messages[-1]["content"], first_time)


def _whole_reply(wire: Wire, script: Script, key: str) -> tuple[int, dict[str, Any]]:
    """Return status and body of a reply that is not streamed."""
    if script.status >= 400:
        message = f"Incorrect API key provided: {key}." if script.status == 401 else "Scripted failure."
        return script.status, wire.error(script.error, message)
    if rejection := wire.rejection():
        return 400, wire.error("invalid_request_error", rejection)
    return 200, wire.whole(script)


async def _send(writer: asyncio.StreamWriter, status: int, body: object, headers: dict[str, str]) -> bool:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Fake", "content-type: application/json", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + data)
    await writer.drain()
    return True


async def _stream(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    wire: Wire,
    script: Script,
    headers: dict[str, str],
) -> bool:
    """Stream the script; return False if it ends by closing the connection.

    Raises ConnectionError if the client disconnects.
    """

    async def send(events: str) -> None:
        if reader.at_eof():
            raise ConnectionResetError
        data = events.encode()
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()

    lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await send(wire.opening(script.tokens))
    for text in script.reasoning:
        await send(wire.reasoning(text))
    for sent, text in enumerate(script.pieces[: script.after]):
        if script.hold and sent == script.hold.after:
            await wait_for(script.hold, reader)
        await asyncio.sleep(script.delay)
        await send(wire.piece(text.replace(NOW, f"{time.time():.4f}")))
    if script.ending == "cut":
        return False
    if script.ending == "hang":
        await reader.read()
        raise ConnectionResetError
    if script.ending == "error":
        await send(wire.error_event(script.error))
    elif script.ending == "complete":
        await send(wire.ending(script))
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
