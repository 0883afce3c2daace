"""A server with the S3 protocol, for tests of blobs in buckets."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.stack import HANG, free_port

KEYS = {"AWS_ACCESS_KEY_ID": "test-access", "AWS_SECRET_ACCESS_KEY": "test-canary-secret"}

BUCKET = "hintbench"


class S3Server:
    """Moto's server in a thread, which a test may stop and start; its objects stay."""

    def __init__(self) -> None:
        self._port = free_port()
        self._server: Any = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that uses the server."""
        return {"AWS_ENDPOINT_URL_S3": self.url, "AWS_REGION": "us-east-1", **KEYS}

    def start(self) -> None:
        """Start the server, unless it runs."""
        from moto.server import ThreadedMotoServer  # a slow import that other tests do not need

        if self._server is None:
            self._server = ThreadedMotoServer("127.0.0.1", self._port, verbose=False)
            self._server.start()

    def stop(self) -> None:
        """Stop the server, if it runs."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def reset(self) -> None:
        """Delete all objects, accept all requests, and make the bucket."""
        self.start()
        self._post("reset-auth", b"1000000000")
        self._post("reset", b"")
        self.client().create_bucket(Bucket=BUCKET)

    def deny(self) -> None:
        """Let the server check credentials from now on, of which it knows none."""
        self._post("reset-auth", b"0")

    def client(self) -> Any:
        """Return a client of the SDK, for what a test does behind the back of the program."""
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )

    def _post(self, name: str, body: bytes) -> None:
        headers = {"Content-Type": "text/plain"}
        request = urllib.request.Request(f"{self.url}/moto-api/{name}", body, headers, method="POST")
        urllib.request.urlopen(request, timeout=HANG).close()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Return the server behind `s3`, which keeps its state between tests."""
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """Return a running server with an empty bucket; the variables of this process name it."""
    s3_server.reset()
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server
