"""Logs: one structured line for each request, command, reply, judgement, run step and fault, as text or JSON.

A line holds ids that lead to the rows. It holds no text of a message, reply, program or test, and no key: tracebacks
list places and types, exceptions of unknown origin lose their message, and the values of secret variables and the
tokens of links are replaced.
"""

from __future__ import annotations

import logging.config
import os
import re
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import redis
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError
from structlog.stdlib import ProcessorFormatter

from config import secret_key

SHOWN = (OSError, redis.RedisError, OperationalError, InterfaceError)
"""Exceptions of other packages whose messages name servers and files only, never content."""

OWN_PACKAGES = ("config", "accounts", "judge", "benchmark", "tutoring")

_SECRET_NAME = re.compile(r"(_KEY|_TOKEN|_SECRET|PASSWORD)$")
_MINIMUM_SECRET = 8
_TRACEBACK = "Traceback (most recent call last)"
_LINK_TOKEN = re.compile(r"(/set-password/[^/\s]+/)[^/\s?#]+")
"""The token in the address of a set-password link, after what stays in the line."""

_LONGEST_CHAIN = 10

EventDict = MutableMapping[str, Any]


def configure(logging_settings: dict[str, Any]) -> None:
    """Apply `settings.LOGGING` to the standard library, and send the lines of structlog there."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_context(),
            structlog.stdlib.PositionalArgumentsFormatter(),
            take_exception,
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(logging_settings)


def formatter(form: str) -> ProcessorFormatter:
    """Return the formatter of all lines; `form` is "text" or "json"."""
    renderer: Any = structlog.processors.JSONRenderer(default=str)
    if form == "text":
        renderer = _render_text
    return ProcessorFormatter(
        foreign_pre_chain=_context(),
        processors=[
            ProcessorFormatter.remove_processors_meta,
            describe_fault,
            hide_secrets,
            renderer,
        ],
    )


def _context() -> list[Any]:
    """Return the processors that add time, level, logger and the id of the request."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]


def _render_text(_logger: Any, _method: str, line: EventDict) -> str:
    """Return "TIME LEVEL LOGGER: EVENT key=value …" with the frames of a fault below it."""
    frames = line.pop("frames", ())
    head = f"{line.pop('time')} {line.pop('level').upper()} {line.pop('logger')}: {line.pop('event')}"
    values = "".join(f" {name}={value}" for name, value in line.items())
    return "\n    ".join([head + values, *frames])


def take_exception(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Replace `exc_info=True` by the exception that is handled now: a handler may format the line later."""
    if line.get("exc_info") is True:
        line["exc_info"] = sys.exc_info()
    return line


def describe_fault(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Replace an exception with its types, the messages that may be shown, and the frames of its traceback."""
    raised = line.pop("exc_info", None)
    error = raised[1] if isinstance(raised, tuple) else raised
    if error is not None:
        line["fault"] = " from ".join(fault_of(one) for one in exception_chain(error))
        line["frames"] = _frames(error.__traceback__)
    event = str(line.get("event", ""))
    if _TRACEBACK in event:  # written by a library
        head, _, rest = event.partition(_TRACEBACK)
        line["event"] = head.strip()
        line["frames"] = [text.strip() for text in rest.splitlines() if text.startswith("  File ")]
    return line


def fault_of(error: BaseException) -> str:
    """Return type and message of an exception; the type alone if the message may quote content."""
    own = type(error).__module__.partition(".")[0] in OWN_PACKAGES
    return f"{type(error).__name__}: {error}" if own or isinstance(error, SHOWN) else type(error).__name__


def exception_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and those during whose handling it was raised, also where a traceback would omit them."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _frames(start: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(start)]


def hide_secrets(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Replace every value of a secret variable, and every token of a link, in texts of the line."""
    hidden = secrets()
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = _without(value, hidden)
        elif isinstance(value, list):
            line[name] = [_without(str(one), hidden) for one in value]
    return line


def _without(text: str, hidden: tuple[str, ...]) -> str:
    for secret in hidden:
        text = text.replace(secret, "[secret]")
    return _LINK_TOKEN.sub(r"\1…", text)


@cache
def secrets() -> tuple[str, ...]:
    """Return the values of variables that hold keys or tokens, and the passwords in addresses."""
    found = set()
    if (Path(settings.VAR) / secret_key.FILE).exists():
        found.add(str(settings.SECRET_KEY))
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name):
            found.add(value.strip())
        elif name.endswith("_URL") and "@" in value:
            found.add(urlsplit(value).password or "")
    return tuple(value for value in found if len(value) >= _MINIMUM_SECRET)
