"""The one place where prompts are put together, and where hidden things are kept out of them.

A method never holds a `Problem` row. It holds a `Task`, which has only what a model may read, and texts of
other problems as `Document`s; assembly refuses a document of the problem under test. Hidden tests, the
analysis and the reference solutions of that problem therefore have no way in, and canary tests send every
method through a recording server to prove it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.models import Problem
from benchmark.prompts.templates import render, template_hash
from benchmark.providers import Message
from benchmark.retrieval import Document
from judge import get_language

ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh")
"""How many similar problems a prompt can introduce (METHODS.md 1.2, A4)."""


class PromptLeak(Exception):
    """A prompt was about to show a model the solution of the very problem it is to solve."""


@dataclass(frozen=True)
class Task:
    """What a model under test may know about its problem."""

    id: str
    statement: str
    time_limit: float
    memory_limit: int

    @classmethod
    def of(cls, problem: Problem) -> "Task":
        """The visible part of a stored problem."""
        return cls(problem.external_id, problem.statement, problem.time_limit, problem.memory_limit)


@dataclass(frozen=True)
class Prompt:
    """A finished question: one user message, no system message, as in the USACO paper (METHODS.md 6)."""

    messages: tuple[Message, ...]
    template_hash: str

    @property
    def hash(self) -> str:
        """sha256 of the messages as canonical JSON."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> list[dict[str, str]]:
        """The messages as they are stored."""
        return [{"role": message.role, "content": message.content} for message in self.messages]


def zero_shot_prompt(task: Task, language: str, *, state_limits: bool) -> Prompt:
    """P-1: reason in steps, then one program (METHODS.md 6)."""
    text = render("zero_shot", problem=_problem(task, state_limits), **_language(language))
    return _prompt(text, "zero_shot")


def episodic_prompt(task: Task, language: str, similar: Sequence[Document], *, state_limits: bool) -> Prompt:
    """P-4: P-1 with similar problems and their solutions before the problem (METHODS.md 6).

    Raises PromptLeak when the problem under test is among them.
    """
    if any(document.id == task.id for document in similar):
        raise PromptLeak(f"{task.id} was retrieved for itself: its solution must not be in its own prompt")
    introduced = [
        render("similar_problem", ordinal=ordinal, text=document.text)
        for ordinal, document in zip(ORDINALS[: len(similar)], similar, strict=True)
    ]
    text = render(
        "episodic",
        problem=_problem(task, state_limits),
        similar_problems="\n\n".join(introduced),
        **_language(language),
    )
    return _prompt(text, "episodic", "similar_problem")


def _prompt(text: str, *templates: str) -> Prompt:
    return Prompt((Message("user", text),), template_hash(*templates))


def _problem(task: Task, state_limits: bool) -> str:
    if not state_limits:
        return task.statement
    megabytes = task.memory_limit / 2**20
    return f"{task.statement}\n\nTime limit: {task.time_limit:g} s\nMemory limit: {megabytes:g} MiB"


def _language(name: str) -> dict[str, str]:
    language = get_language(name)
    return {"language": language.title, "fence": language.family}
