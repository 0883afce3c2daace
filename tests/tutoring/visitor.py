"""A client for running stacks that logs in, posts commands like the page script, and listens on the socket."""

from __future__ import annotations

import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from uuid import uuid4

from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.sync.client import ClientConnection, connect

from tests import stack as stacks
from tests.stack import Stack


class Visitor:
    """A logged-in user of a running stack."""

    def __init__(self, stack: Stack, name: str, password: str) -> None:
        self.stack = stack
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.get("/login/")
        status, _ = self.post("/login/", username=name, password=password)
        assert status == 200, f"{name} cannot log in"

    def get(self, path: str) -> tuple[int, str]:
        return self._open(urllib.request.Request(self.stack.url + path))

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Post a form and follow redirects."""
        return self._open(self._request(path, fields))

    def command(self, path: str, **fields: str) -> tuple[int, dict[str, Any]]:
        """Post a command like the page script and return the JSON answer."""
        request = self._request(path, {"command": str(uuid4()), **fields})
        request.add_header("Accept", "application/json")
        status, body = self._open(request)
        return status, json.loads(body)

    def start_session(self, problem_id: str, protocol_title: str = "") -> str:
        """Start a session on a practice problem, accepting the consent text, and return the session's path.

        The protocol is the first one whose title starts with `protocol_title`.
        """
        status, problem = self.get(f"/problems/practice/{problem_id}/")
        form = re.search(r'name="problem"[^>]*value="(\d+)"', problem)
        protocol = re.search(rf'name="protocol" value="(\d+)"[^>]*> {protocol_title}', problem)
        assert form is not None, f"no form to start a session on a page with status {status}: {problem}"
        assert protocol is not None, "no protocol to choose"
        fields = {"problem": form[1], "protocol": protocol[1]}
        _, page = self.post("/sessions/start/", **fields)
        if consent := re.search(r'name="consent" value="(\w+)"', page):
            _, page = self.post("/sessions/start/", **fields, consent=consent[1])
        session = re.search(r'data-session="([^"]+)"', page)
        assert session is not None, "no session was started"
        return f"/sessions/{session[1]}/"

    def socket(self, path: str) -> Socket:
        """Open the socket of a session page."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)
        address = self.stack.url.replace("http://", "ws://") + "/ws" + path
        headers = {"Cookie": cookies, "Origin": self.stack.url}
        return Socket(lambda: connect(address, additional_headers=headers, open_timeout=stacks.HANG))

    def _request(self, path: str, fields: dict[str, str]) -> urllib.request.Request:
        token = next((cookie.value or "" for cookie in self.jar if cookie.name == "csrftoken"), "")
        body = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
        return urllib.request.Request(self.stack.url + path, data=body, headers={"X-CSRFToken": token})

    def _open(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self.opener.open(request, timeout=stacks.HANG) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Socket:
    """The page script's part of the socket: tracks the position, reconnects, and assembles the text."""

    def __init__(self, open_connection: Callable[[], AbstractContextManager[ClientConnection]]) -> None:
        self._open_connection = open_connection
        self._connections = ExitStack()
        self._connection: ClientConnection | None = None
        self.after = 0
        self.reply: dict[str, int] | None = None
        self.text = ""
        self.texts: list[tuple[int, str]] = []
        """Return every state of the growing text with its attempt, oldest first."""
        self.events: list[dict[str, Any]] = []
        self.status: dict[str, Any] = {}
        self.messages: list[tuple[float, dict[str, Any]]] = []
        """Return all messages with their times of `time.monotonic`."""
        self.close_code: int | None = None
        self.reconnections = -1

    def listen_until(self, condition: Callable[[Socket], bool]) -> None:
        """Receive messages, reconnecting if needed, until the condition holds."""
        end = time.monotonic() + stacks.HANG
        while not condition(self):
            assert time.monotonic() < end, (
                f"waited {stacks.HANG} s: {self.text[-200:]!r} {self.status} {self.events}"
            )
            try:
                self._fold(self._receive())
            except TimeoutError:
                continue
            except (OSError, ConnectionClosed, EOFError, InvalidMessage) as error:
                self.drop()
                received = getattr(error, "rcvd", None)
                if received is not None and received.code >= 4000:
                    self.close_code = received.code
                    return
                time.sleep(0.1)

    def drop(self) -> None:
        """Close the connection, like a browser that reloads or goes offline."""
        self._connections.close()
        self._connection = None

    def _receive(self) -> dict[str, Any]:
        if self._connection is None:
            self._connection = self._connections.enter_context(self._open_connection())
            self.reconnections += 1
            self._sync()
        message: dict[str, Any] = json.loads(self._connection.recv(timeout=1))
        return message

    def _sync(self) -> None:
        assert self._connection is not None
        self._connection.send(json.dumps({"op": "sync", "after": self.after}))

    def _fold(self, message: dict[str, Any]) -> None:
        self.messages.append((time.monotonic(), message))
        match message["type"]:
            case "events":
                for event in message["events"]:
                    if event["seq"] > self.after:
                        self.events.append(event)
                self.after = max(self.after, *(event["seq"] for event in message["events"]))
            case "snapshot":
                self.reply = {"id": message["reply"], "attempt": message["attempt"], "seq": message["seq"]}
                self.text = message["text"]
                self.texts.append((message["attempt"], self.text))
            case "delta":
                here = (message["reply"], message["attempt"], message["seq"] - 1)
                if self.reply and here == (self.reply["id"], self.reply["attempt"], self.reply["seq"]):
                    self.reply["seq"] += 1
                    self.text += message["text"]
                    self.texts.append((message["attempt"], self.text))
                else:
                    self._sync()
            case "status":
                self.status = message
                if message["active_reply"] is None:
                    self.reply = None

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events]
