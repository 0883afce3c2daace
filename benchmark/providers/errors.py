"""The error of all providers. It never contains a key, and it can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

ErrorKind = Literal[
    "configuration",
    "authentication",
    "rate_limit",
    "overloaded",
    "bad_request",
    "not_found",
    "connection",
    "timeout",
    "server",
    "unknown",
]
_RETRYABLE: frozenset[ErrorKind] = frozenset({"rate_limit", "overloaded", "connection", "timeout", "server"})

_KIND_OF_STATUS: dict[int, ErrorKind] = {
    401: "authentication",
    402: "configuration",
    403: "authentication",
    404: "not_found",
    408: "timeout",
    409: "server",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
FLAGGED = "content_policy_violation"
"""The code of a request whose messages a moderation refused."""

# The type or code in the error's body overrides the status, which is 200 for an error within a stream.
_KIND_OF_TYPE: dict[str, ErrorKind] = {
    "api_error": "server",
    "authentication_error": "authentication",
    "billing_error": "configuration",
    "bio_policy": "bad_request",
    FLAGGED: "bad_request",
    "data_residency_mismatch": "bad_request",
    "invalid_api_key": "authentication",
    "invalid_prompt": "bad_request",
    "invalid_request_error": "bad_request",
    "insufficient_quota": "configuration",
    "misalignment_policy_violation": "bad_request",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "authentication",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "bad_request",
    "server_error": "server",
    "timeout_error": "timeout",
    "token_limit_exceeded": "rate_limit",
}

REFUSED: frozenset[ErrorKind] = frozenset(
    {"configuration", "authentication", "rate_limit", "bad_request", "not_found"}
)
"""Kinds of failures after which the provider certainly did nothing. After others it may have acted."""


class ProviderError(Exception):
    """A model call without a complete reply.

    `message` is written for users. `retryable` says whether the same call may succeed later; `retry_after` is the wait
    in seconds that the provider requested, None without one.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retryable = kind in _RETRYABLE if retryable is None else retryable
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.kind, self.message, self.retryable, self.retry_after)


def _restore(kind: ErrorKind, message: str, retryable: bool, retry_after: float | None) -> ProviderError:
    return ProviderError(kind, message, retryable=retryable, retry_after=retry_after)


def kind_of_failure(status: int | None, types: tuple[str | None, ...]) -> ErrorKind:
    """Return the kind of a failure with this HTTP status and the code and type in its body."""
    if status in (401, 403):
        types = types[:1] if status == 403 else ()  # the type is as general as the status
    for name in types:
        if name in _KIND_OF_TYPE:
            return _KIND_OF_TYPE[name]
    if status is None or status < 400:
        return "server"  # an error event within a stream, without a known type
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    return "bad_request" if status < 500 else "server"


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the wait in `retry-after-ms` or `Retry-After` (seconds or a date); None without a readable header."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= wait < float("inf"):
            return wait
    try:
        moment = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
