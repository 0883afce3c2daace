"""The training messages and their labels, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.models import Problem
from tutoring.rules import RuleSet, rule_set


@dataclass(frozen=True)
class TrainingMessage:
    """A tutor's message to label, with the student's text before it, the codebook's clauses, and the reason."""

    number: int
    before: str
    text: str
    clauses: frozenset[str]
    reason: str


@dataclass(frozen=True)
class TrainingMaterial:
    """The messages of the training. `problem` is their practice problem and `about` its summary."""

    rules: RuleSet
    problem: str
    about: str
    messages: tuple[TrainingMessage, ...]


@cache
def material() -> TrainingMaterial:
    """Return the shipped messages, numbered from 1."""
    data: dict[str, Any] = tomllib.loads(
        Path(__file__).with_name("messages.toml").read_text(encoding="utf-8")
    )
    return TrainingMaterial(
        rules=rule_set(data["rule_set"]),
        problem=data["problem"],
        about=" ".join(data["about"].split()),
        messages=tuple(
            TrainingMessage(number, **{**message, "clauses": frozenset(message["clauses"])})
            for number, message in enumerate(data["messages"], start=1)
        ),
    )


def is_training_problem(problem: Problem) -> bool:
    """Return whether the problem is that of the guided session."""
    return problem.dataset.name == "practice" and problem.external_id == material().problem
