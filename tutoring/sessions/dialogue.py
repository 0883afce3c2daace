"""The messages that a model gets: the opening prompt, the tutor's messages, and its own earlier replies.

Only this module builds the messages of a tutored model. Hidden tests, analysis and reference solutions reach it only
through what a tutor writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path

import judge
from benchmark.prompts import VisibleProblem
from benchmark.providers import Message, Role
from tutoring.models import Event
from tutoring.models.payloads import (
    AnyPayload,
    MessageSent,
    Mode,
    ReplyFinished,
    ReplyRequestedAgain,
    SessionOpened,
)

MAXIMUM_MESSAGE = 20_000
"""Characters of the longest message that a tutor can send. A longer one is refused, never truncated."""

_PROMPTS = Path(__file__).parent / "prompts"


@cache
def _template(name: str) -> str:
    return (_PROMPTS / name).read_text(encoding="utf-8")


def _fill(template: str, values: dict[str, str]) -> str:
    """Return the template with its {{names}} replaced in one pass: a statement may contain braces itself."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], _template(template)).strip()


def prompt_texts() -> dict[str, str]:
    """Return the templates of all prompts of sessions by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_PROMPTS.glob("*.txt"))}


def opening_prompt(task: VisibleProblem, language: str) -> str:
    """Return the first message of every session (docs/spec.md 6, P-1b): the task and the statement.

    For a functional problem, the method that the program must define follows the statement.
    """
    parts = [task.statement.strip(), task.samples, task.signature.request if task.signature else ""]
    return _fill(
        "opening.txt",
        {
            "language": judge.get_language(language).title,
            "fence": language,
            "title": task.title,
            "time_limit": f"{task.time_limit:g}",
            "memory_limit": f"{task.memory_limit / 2**20:g}",
            "statement": "\n\n".join(part for part in parts if part).strip(),
        },
    )


def sent_text(text: str, mode: Mode, language: str) -> str:
    """Return the tutor's text as the model gets it; a last line says whether a program is requested.

    A debrief adds no line.
    """
    if mode == "debrief":
        return text
    line = _fill(f"{mode}.txt", {"fence": language})
    return f"{text}\n\n{line}" if text else line


def without_program_text() -> str:
    """Return the prompt for another reply after an unsolicited program: the model must answer without one."""
    return _fill("without_program.txt", {})


def _turn(payload: AnyPayload) -> Message | None:
    """Return the event as a message of the dialogue; None if the model gets nothing of it."""
    match payload:
        case SessionOpened(prompt=text) | MessageSent(sent=text) | ReplyRequestedAgain(sent=str(text)):
            return Message("user", text)
        case ReplyFinished(text=text, blocks=blocks) if text.strip():
            return Message("assistant", text, tuple(blocks))
    return None


def model_messages(events: Iterable[Event]) -> list[Message]:
    """Return the dialogue so far, oldest first. Consecutive user turns are joined: some providers refuse them.

    A reply has the blocks that its provider returned. Every reply of a session is by the session's provider, and
    providers send only their own blocks back.
    """
    return messages_of(event.payload for event in events)


def messages_of(payloads: Iterable[AnyPayload]) -> list[Message]:
    """Return the dialogue of these events; see `model_messages`. A fresh message follows the opening prompt alone."""
    turns: list[Message] = []
    for payload in payloads:
        if isinstance(payload, MessageSent) and payload.fresh:
            del turns[1:]
        if (turn := _turn(payload)) is not None:
            turns.append(turn)
    return [_joined(role, list(group)) for role, group in groupby(turns, key=lambda turn: turn.role)]


def _joined(role: Role, turns: list[Message]) -> Message:
    text = "\n\n".join(turn.content for turn in turns)
    return Message(role, text, tuple(block for turn in turns for block in turn.blocks))
