"""Scripts of replies, and the model names that select predefined scripts."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

NOW = "{now}"
"""A placeholder in a piece for the time at which the server sends it, in seconds since the epoch."""


@dataclass(frozen=True)
class Tokens:
    """The reported usage in tokens: `input` includes `cached`, `output` includes `reasoning`."""

    input: int = 11
    output: int = 7
    cached: int = 3
    reasoning: int = 2


@dataclass(frozen=True)
class Hold:
    """A pause of a reply after its first `after` pieces, until the test calls `release()`."""

    after: int
    released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        """Let the server send the rest."""
        self.released.set()


@dataclass(frozen=True)
class Script:
    """One reply: an error if `status` is 400 or more, otherwise the pieces, each after `delay` seconds.

    `ending` happens after `after` pieces (None: all of them): "complete"; "cut" drops the connection;
    "unfinished" closes the stream without a finish marker; "error" sends an error event of type
    `error`; "hang" sends nothing more. With `tokens` None the reply reports no usage. `redacted` is the data of a
    block of redacted thinking (Anthropic).
    """

    pieces: tuple[str, ...] = ("Hello", ", ", "world.")
    reasoning: tuple[str, ...] = ()
    redacted: str = ""
    delay: float = 0.0
    ending: Literal["complete", "cut", "unfinished", "error", "hang"] = "complete"
    after: int | None = None
    hold: Hold | None = None
    finish: Literal["stop", "length", "refusal"] = "stop"
    tokens: Tokens | None = field(default_factory=Tokens)
    status: int = 200
    error: str = "overloaded_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchScript:
    """The course of one batch; each of its requests has a `Script` of its own, as if sent alone.

    The batch ends after its state has been read `polls` times and `hold` is released. Its creation fails with
    `rejection`, or succeeds and is confirmed when `confirmation` is released, or never (`lost`). The last `expired`
    requests get no reply. `invalid` is the code with which OpenAI rejects all requests. `results` pauses the
    download of the results.
    """

    polls: int = 0
    hold: Hold | None = None
    rejection: Script | None = None
    confirmation: Hold | None = None
    lost: bool = False
    expired: int = 0
    invalid: str = ""
    results: Hold | None = None


_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def _words(number: int) -> tuple[str, ...]:
    return tuple(f"word{index} " for index in range(number))


def _stamps(number: int, paragraph: str | None) -> tuple[str, ...]:
    """Return pieces with the time; each paragraph has this number of them."""
    if paragraph is None:
        return (f"{NOW} ",) * number
    return tuple(f"{NOW} " if index % int(paragraph) else f"{NOW} \n\n" for index in range(1, number + 1))


def failure(status: int, **headers: str) -> Script:
    """Return an HTTP error with these headers, whose names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Script(status=status, error=_ERRORS.get(status, "api_error"), headers=named)


# A name that ends in "-then-ok" fails only for the first call with the same messages.
_BY_NAME: list[tuple[str, Callable[[re.Match[str]], Script]]] = [
    (r"slow-(\d+)ms(?:-(\d+))?", lambda m: Script(_words(int(m[2] or 20)), delay=int(m[1]) / 1000)),
    (r"clock-(\d+)ms-(\d+)(?:-(\d+))?", lambda m: Script(_stamps(int(m[2]), m[3]), delay=int(m[1]) / 1000)),
    (r"cut-after-(\d+)", lambda m: Script(_words(20), ending="cut", after=int(m[1]))),
    (r"hang(?:-after-(\d+))?", lambda m: Script(_words(20), ending="hang", after=int(m[1] or 0))),
    (r"error-429", lambda m: failure(429, retry_after_ms="20")),
    (r"error-(\d{3})", lambda m: failure(int(m[1]))),
    (r"midstream-overloaded", lambda m: Script(_words(20), ending="error", after=3)),
    (r"no-usage", lambda m: Script(tokens=None)),
    (r"finish-length", lambda m: Script(finish="length")),
    (r"refusal", lambda m: Script(("I cannot help with that.",), finish="refusal")),
    (r"reasoning", lambda m: Script(reasoning=("Let me ", "think."))),
    (
        r"fixed:(.*)",
        lambda m: Script(pieces_of(m[1].replace("\\n", "\n"))),
    ),  # a model name has no line breaks
]


def pieces_of(text: str) -> tuple[str, ...]:
    """Split the text into words, each with its trailing whitespace."""
    return tuple(re.findall(r"\s*\S+\s*|\s+", text))


def script_for(model: str, last_message: str, first_time: bool) -> Script:
    """Return the script of a model name. "echo" repeats the last message; an unknown name gives the default script."""
    if model == "echo":
        return Script(pieces_of(last_message))
    name = model.removesuffix("-then-ok")
    for pattern, make in _BY_NAME:
        if match := re.fullmatch(pattern, name, re.DOTALL):
            script = make(match)
            recovered = name != model and not first_time
            return replace(script, ending="complete", after=None, status=200) if recovered else script
    return Script()
