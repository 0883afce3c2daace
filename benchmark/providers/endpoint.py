"""Where an SDK's client connects, and the plain error made of whatever it raises.

Loaded with the SDKs only. No SDK exception leaves a provider: they hold requests with keys in the headers,
and some do not unpickle.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import unquote, urlsplit

import aiohttp
import httpx2
from django.conf import settings

from benchmark.providers.errors import ProviderError, kind_of_failure, retry_after_seconds

_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-[\w*.-]+|\bBearer\s+\S+", re.IGNORECASE)
_CONNECT_TIMEOUT = 10.0  # seconds
CONNECTIONS = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000, keepalive_expiry=30.0)
"""No bound of its own on the calls in flight: whoever makes them has one."""
_LONGEST_DETAIL = 400  # characters of the provider's own message

# What a client may raise besides its SDK's own base class: the transport's errors leak through both SDKs, and
# nonsense that a server sends shows as one of the last three.
_TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError)
CLIENT_ERRORS = (*_TRANSPORT_ERRORS, ValueError, TypeError, AttributeError)

_NO_SUCH_ADDRESS = frozenset({404, 405, 501})
"""What a server answers where it has nothing."""


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The system's certificates, for all clients of the process: loading them takes 40 ms of the event loop."""
    return httpx2.create_ssl_context()


@dataclass(frozen=True)
class Endpoint:
    """`name` is the company's or server's name in messages; `variables` is the prefix of its settings."""

    name: str
    variables: str
    url: str
    key: str = field(repr=False)

    @classmethod
    def from_settings(cls, name: str, variables: str, default_url: str) -> Endpoint:
        """The endpoint that NAME_API_KEY and NAME_BASE_URL describe; the key may be empty.

        Raises ProviderError (kind "configuration") when there is no address or the key cannot be sent.
        """
        url = getattr(settings, f"{variables}_BASE_URL") or default_url
        key = getattr(settings, f"{variables}_API_KEY")
        if not url:
            raise ProviderError(
                "configuration",
                f"{name}: no address. Set {variables}_BASE_URL, for instance to http://localhost:11434/v1.",
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ProviderError(
                "configuration",
                f"{variables}_API_KEY holds blanks or characters that no key has. Copy it again.",
            )
        return cls(name, variables, url, key)

    @property
    def address(self) -> str:
        """The URL without a user name and password, which the transport refuses beside a key."""
        return urlsplit(self.url)._replace(netloc=self._host()).geturl()

    @property
    def headers(self) -> dict[str, str]:
        """The user name and password of the URL, for a proxy that wants them instead of the key."""
        user, at, _ = urlsplit(self.url).netloc.rpartition("@")
        return {"Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}

    def require_key(self) -> None:
        """Raises ProviderError (kind "configuration") without a key."""
        if not self.key:
            raise ProviderError(
                "configuration", f"{self.name}: no key. Set {self.variables}_API_KEY and start again."
            )

    @property
    def timeout(self) -> httpx2.Timeout:
        """PROVIDER_TIMEOUT seconds for each wait: for the first byte and between two pieces of a reply."""
        seconds = float(settings.PROVIDER_TIMEOUT)
        return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_TIMEOUT))

    def cut_short(self) -> ProviderError:
        """The error for a reply that ended without saying that it was complete."""
        return ProviderError("connection", f"{self.name}: the reply broke off before its end.")

    def broken_off(self, details: object) -> ProviderError:
        """The error that the provider told in mid-stream."""
        return self._reported(ValueError("no reason given"), {"error": details}, None, {})

    def in_batch(self, details: object, status: int | None = None) -> ProviderError:
        """The error that stands in the results of a batch, or is told of all of it."""
        return self._reported(ValueError("no reason given"), {"error": details}, status, {}, "in a batch")

    async def check_batches(self, listing: Awaitable[object], sdk_error: type[Exception]) -> None:
        """Waits for a list of batches. Raises ProviderError when there is none, as on a server without batches."""
        absent = False
        with self.errors(sdk_error):
            try:
                await listing
            except sdk_error as error:
                absent = getattr(getattr(error, "response", None), "status_code", None) in _NO_SUCH_ADDRESS
                if not absent:
                    raise
        if absent:
            raise ProviderError(
                "configuration", f"{self.name}: {self._host()} takes no batches. Leave out --batch."
            )

    @contextmanager
    def errors(self, sdk_error: type[Exception]) -> Iterator[None]:
        """Turns what an SDK, whose own base class this is, and its client raise into ProviderError."""
        try:
            yield
        except (sdk_error, *CLIENT_ERRORS) as error:
            raise self.failure(error) from None

    def failure(self, error: Exception) -> ProviderError:
        """What `error`, raised by the SDK's client or its transport, means."""
        causes = (error, error.__cause__)
        # The transport calls every connection that could not be made, or was dropped, a ConnectTimeout.
        timeouts = [cause for cause in causes if isinstance(cause, httpx2.TimeoutException)]
        if any(not isinstance(cause, httpx2.ConnectTimeout) for cause in timeouts):
            return ProviderError(
                "timeout",
                f"{self.name}: nothing came for {settings.PROVIDER_TIMEOUT} seconds (PROVIDER_TIMEOUT).",
            )
        body = getattr(error, "body", None)
        response = getattr(error, "response", None)
        if body is not None or response is not None:
            status, headers = (response.status_code, response.headers) if response is not None else (None, {})
            return self._reported(error, body, status, headers)
        if isinstance(error, UnicodeEncodeError):
            return ProviderError(
                "bad_request", f"{self.name}: the messages hold a character that UTF-8 has not."
            )
        cause = next((cause for cause in causes if isinstance(cause, _TRANSPORT_ERRORS)), error)
        if cause is error and isinstance(error, ValueError | TypeError | AttributeError):
            return ProviderError(
                "server", f"{self.name}: the answer is unreadable: {self._plain(str(error))}"
            )
        return ProviderError(
            "connection",
            f"{self.name}: the connection to {self._host()} failed ({type(cause).__name__}). "
            f"Check the network and {self.variables}_BASE_URL.",
        )

    def _reported(
        self,
        error: Exception,
        body: object,
        status: int | None,
        headers: Mapping[str, str],
        where: str = "the reply broke off",
    ) -> ProviderError:
        """A failure the provider itself reported, by its status or by an error event in mid-stream."""
        details = body.get("error", body) if isinstance(body, dict) else {}
        details = details if isinstance(details, dict) else {}
        types = tuple(
            value if isinstance(value, str) else None for value in map(details.get, ("code", "type"))
        )
        kind = kind_of_failure(status, types)
        if kind == "authentication" and status == 401:
            # Its own words quote parts of the key.
            message = f"{self.name}: the key in {self.variables}_API_KEY was refused (HTTP 401). Check it."
            return ProviderError(kind, message)
        words = self._plain(str(details.get("message") or getattr(error, "message", "") or error))
        told = f"HTTP {status}" if status and status >= 400 else where
        return ProviderError(
            kind,
            f"{self.name}: {told}: {words}",
            retry_after=retry_after_seconds(headers),
        )

    def _plain(self, words: str) -> str:
        """The words on one line, without anything like a key and not too long."""
        if self.key:
            words = words.replace(self.key, "[key]")
        words = " ".join(_KEY_LIKE.sub("[key]", words).split())
        return words if len(words) <= _LONGEST_DETAIL else words[:_LONGEST_DETAIL] + "…"

    def _host(self) -> str:
        """The address without a user name, password or path."""
        return urlsplit(self.url).netloc.rpartition("@")[2]
