"""What the model is sent: the opening prompt, the tutor's words, and its own earlier replies. Nothing else.

This is the only place that builds a tutored model's messages, so hidden tests, analysis and reference
solutions cannot reach it except through what a tutor writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import judge
from benchmark.models import Problem
from benchmark.providers import Message
from tutoring.models import Event

_PROMPTS = Path(__file__).parent / "prompts"


def _fill(template: str, values: dict[str, str]) -> str:
    """The template with its {{names}} replaced in one pass, so that a statement may itself hold braces."""
    text = (_PROMPTS / template).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], text).strip()


def opening_prompt(problem: Problem, language: str) -> str:
    """The first message of every session (docs/spec.md 6, P-1b): the task and the statement."""
    return _fill(
        "opening.txt",
        {
            "language": judge.get_language(language).title,
            "fence": language,
            "title": problem.title,
            "time_limit": f"{problem.time_limit:g}",
            "memory_limit": f"{problem.memory_limit / 2**20:g}",
            "statement": f"{problem.statement.strip()}\n\n{problem.samples_text}".strip(),
        },
    )


def sent_text(text: str, mode: str, language: str) -> str:
    """The tutor's words as the model gets them: with one line that says whether a program is wanted."""
    line = _fill(f"{mode}.txt", {"fence": language})
    return f"{text}\n\n{line}" if text else line


def without_program_text() -> str:
    """What the model is told when it has written a program nobody asked for and is to answer once more."""
    return _fill("without_program.txt", {})


def model_messages(events: Iterable[Event]) -> list[Message]:
    """The dialogue so far, oldest first. Consecutive user turns are joined: some providers refuse them."""
    turns: list[tuple[str, list[str]]] = []
    for event in events:
        if event.kind == Event.Kind.OPENED:
            turn = ("user", event.data["prompt"])
        elif event.kind == Event.Kind.MESSAGE or (
            event.kind == Event.Kind.ASKED_AGAIN and "sent" in event.data
        ):
            turn = ("user", event.data["sent"])
        elif event.kind == Event.Kind.REPLY and event.data["text"].strip():
            turn = ("assistant", event.data["text"])
        else:
            continue
        if turns and turns[-1][0] == turn[0]:
            turns[-1][1].append(turn[1])
        else:
            turns.append((turn[0], [turn[1]]))
    return [
        Message(role="assistant" if role == "assistant" else "user", content="\n\n".join(texts))
        for role, texts in turns
    ]
