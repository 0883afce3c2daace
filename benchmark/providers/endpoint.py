"""The address of an SDK's client, and the conversion of its exceptions into ProviderError.

This module is loaded with the SDKs only. No SDK exception leaves a provider: SDK exceptions contain requests with keys
in the headers, and some cannot be unpickled.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
import httpx2
from django.conf import settings

from benchmark.providers.errors import FLAGGED, ProviderError, kind_of_failure, retry_after_seconds
from benchmark.providers.registry import find_endpoint

_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-[\w*.-]+|\bBearer\s+\S+", re.IGNORECASE)
_CONNECT_TIMEOUT = 10.0  # seconds
CONNECTIONS = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000, keepalive_expiry=30.0)
"""No effective limit on the calls in flight; the callers set one."""
_LONGEST_DETAIL = 400  # characters of the provider's own message

# Exceptions of a client besides its SDK's base class: the transport's errors pass through both SDKs, and invalid data
# from a server raises one of the others.
_TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError)
_INVALID_DATA = (ValueError, TypeError, AttributeError, LookupError)
CLIENT_ERRORS = (*_TRANSPORT_ERRORS, *_INVALID_DATA)

_NO_SUCH_ADDRESS = frozenset({404, 405, 501})
"""HTTP statuses for a path that the server does not have."""


@cache
def trusted_certificates() -> ssl.SSLContext:
    """Return the system's certificates, which are loaded once: loading blocks the event loop for 40 ms."""
    return httpx2.create_ssl_context()


@dataclass(frozen=True)
class Endpoint:
    """A provider's server; `name` appears in messages, with the variables of its address and key.

    The address may contain a password.
    """

    name: str
    url_variable: str
    key_variable: str
    url: str = field(repr=False)
    key: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.url:
            raise ProviderError(
                "configuration",
                f"{self.name}: no address. Set {self.url_variable}, for instance to http://localhost:11434/v1.",
            )
        if not (self.key.isascii() and self.key.isprintable()) or " " in self.key:
            raise ProviderError(
                "configuration",
                f"{self.key_variable} contains blanks or characters that no key has. Copy it again.",
            )

    @classmethod
    def from_settings(cls, name: str, variables: str, default_url: str) -> Endpoint:
        """Return the endpoint of the settings NAME_API_KEY and NAME_BASE_URL; the key may be empty.

        Raises ProviderError (kind "configuration") when there is no address or the key cannot be sent.
        """
        url = getattr(settings, f"{variables}_BASE_URL") or default_url
        key = getattr(settings, f"{variables}_API_KEY")
        return cls(name, f"{variables}_BASE_URL", f"{variables}_API_KEY", url, key)

    @classmethod
    def named(cls, name: str) -> Endpoint:
        """Return the endpoint of this name in MODEL_ENDPOINTS; the key may be empty.

        Raises ProviderError (kind "configuration") for an unknown name or a key that cannot be sent.
        """
        found = find_endpoint(name)
        variable = f"MODEL_ENDPOINT_{name.upper()}"
        return cls(f"Endpoint {name}", f"{variable}_URL", f"{variable}_KEY", found.url, found.key)

    @property
    def address(self) -> str:
        """The URL without user name and password, which the transport refuses together with a key."""
        return urlsplit(self.url)._replace(netloc=self._host()).geturl()

    @property
    def headers(self) -> dict[str, str]:
        """The header with the URL's user name and password, for a proxy that requires them instead of the key."""
        user, at, _ = urlsplit(self.url).netloc.rpartition("@")
        return {"Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}

    def require_key(self) -> None:
        """Raise ProviderError (kind "configuration") without a key."""
        if not self.key:
            raise ProviderError(
                "configuration", f"{self.name}: no key. Set {self.key_variable} and start again."
            )

    @property
    def timeout(self) -> httpx2.Timeout:
        """PROVIDER_TIMEOUT seconds for each wait: for the first byte and between two pieces of a reply."""
        seconds = float(settings.PROVIDER_TIMEOUT)
        return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_TIMEOUT))

    @property
    def client_options(self) -> dict[str, Any]:
        """The arguments of an SDK's client that do not depend on the SDK."""
        return {
            "base_url": self.address,
            "default_headers": self.headers,
            "timeout": self.timeout,
            "max_retries": 0,
        }

    def incomplete_reply(self) -> ProviderError:
        """Return the error of a reply that ended without a finish reason."""
        return ProviderError("connection", f"{self.name}: the reply broke off before its end.")

    def stream_error(self, details: object) -> ProviderError:
        """Return the error that the provider reported within a stream."""
        return self._reported(ValueError("no reason given"), {"error": details}, None, {})

    def batch_error(self, details: object, status: int | None = None) -> ProviderError:
        """Return the error of one result of a batch, or of the whole batch."""
        return self._reported(ValueError("no reason given"), {"error": details}, status, {}, "in a batch")

    async def check_batches(self, listing: Awaitable[object], sdk_error: type[Exception]) -> None:
        """Await a list of batches. Raises ProviderError on a server without batches."""
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
                "configuration", f"{self.name}: {self._host()} does not accept batches. Leave out --batch."
            )

    @contextmanager
    def errors(self, sdk_error: type[Exception]) -> Iterator[None]:
        """Convert exceptions of an SDK, given by their base class, and of its client into ProviderError."""
        try:
            yield
        except (sdk_error, *CLIENT_ERRORS) as error:
            raise self.failure(error) from None

    def failure(self, error: Exception) -> ProviderError:
        """Return the ProviderError for an exception of the SDK's client or its transport."""
        causes = (error, error.__cause__)
        # The transport reports every connection that failed or was dropped as a ConnectTimeout.
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
                "bad_request", f"{self.name}: the messages contain a character that UTF-8 cannot encode."
            )
        cause = next((cause for cause in causes if isinstance(cause, _TRANSPORT_ERRORS)), error)
        if cause is error and isinstance(error, _INVALID_DATA):
            return ProviderError(
                "server", f"{self.name}: the answer is unreadable: {self._sanitized(str(error))}"
            )
        return ProviderError(
            "connection",
            f"{self.name}: the connection to {self._host()} failed ({type(cause).__name__}). "
            f"Check the network and {self.url_variable}.",
        )

    def _reported(
        self,
        error: Exception,
        body: object,
        status: int | None,
        headers: Mapping[str, str],
        where: str = "the reply broke off",
    ) -> ProviderError:
        """Return the error that the provider reported with a status or an error event."""
        details = body.get("error", body) if isinstance(body, dict) else {}
        details = details if isinstance(details, dict) else {}
        code, reported = (
            value if isinstance(value, str) else None for value in map(details.get, ("code", "type"))
        )
        kind = kind_of_failure(status, (FLAGGED if _is_flagged(details) else code, reported))
        if kind == "authentication" and status == 401:
            # The provider's own message quotes parts of the key.
            message = f"{self.name}: the key in {self.key_variable} was refused (HTTP 401). Check it."
            return ProviderError(kind, message)
        words = self._sanitized(str(details.get("message") or getattr(error, "message", "") or error))
        source = f"HTTP {status}" if status and status >= 400 else where
        return ProviderError(
            kind,
            f"{self.name}: {source}: {words}",
            retry_after=retry_after_seconds(headers),
        )

    def _sanitized(self, words: str) -> str:
        """Return the words on one line, without keys, cut to `_LONGEST_DETAIL` characters."""
        if self.key:
            words = words.replace(self.key, "[key]")
        words = " ".join(_KEY_LIKE.sub("[key]", words).split())
        return words if len(words) <= _LONGEST_DETAIL else words[:_LONGEST_DETAIL] + "…"

    def _host(self) -> str:
        """Return the address without user name, password and path."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


def _is_flagged(details: Mapping[str, Any]) -> bool:
    """Return whether OpenRouter reports that a moderation refused the messages. Its code is the HTTP status."""
    metadata = details.get("metadata")
    return isinstance(metadata, dict) and not metadata.keys().isdisjoint({"flagged_input", "reasons"})
