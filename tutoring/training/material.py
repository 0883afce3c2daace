"""The messages to label, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tutoring.rules import RuleSet, rule_set


@dataclass(frozen=True)
class TrainingMessage:
    """A tutor's message, what the student had said before it, the codebook's clauses for it, and why."""

    number: int
    before: str
    text: str
    clauses: frozenset[str]
    reason: str


@dataclass(frozen=True)
class Material:
    """`problem` is the practice problem that the messages are about, `about` what one must know of it."""

    rules: RuleSet
    problem: str
    about: str
    messages: tuple[TrainingMessage, ...]


@cache
def material() -> Material:
    """The shipped messages, numbered from 1."""
    data: dict[str, Any] = tomllib.loads(
        Path(__file__).with_name("messages.toml").read_text(encoding="utf-8")
    )
    return Material(
        rules=rule_set(data["rule_set"]),
        problem=data["problem"],
        about=" ".join(data["about"].split()),
        messages=tuple(
            TrainingMessage(number, **{**message, "clauses": frozenset(message["clauses"])})
            for number, message in enumerate(data["messages"], start=1)
        ),
    )
