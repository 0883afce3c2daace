"""What a policy is: a function from what a tutor may know to an act.

`TutorView` has no place for hidden tests or for results that quote them. Privileged facts are there only if the policy
declares them in `knows`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from benchmark.methods import Chain
from benchmark.prompts import VisibleProblem
from benchmark.providers import Message
from tutoring.models.payloads import TutorTurn

T = TypeVar("T")

Fact = Literal["analysis", "references", "program_right"]
"""A fact that the student does not have: the official analysis without programs, reference programs in the language of
the session, and whether the latest program passes all tests."""


KNOWS = "knows"
"""The key of the facts in the record of a run whose settings choose them."""


@dataclass(frozen=True)
class RemainingBudget:
    """The rest of the protocol's budget."""

    code_generations: int
    executions: int


@dataclass(frozen=True)
class TutorView:
    """Everything that a policy may know before its next act."""

    problem: VisibleProblem
    """The texts of the problem as the student has them."""
    language: str
    dialogue: tuple[Message, ...]
    """The messages that the student gets, and its replies."""
    programs: tuple[str, ...]
    """The programs that count as generations, oldest first."""
    messages_sent: int
    budget: RemainingBudget
    analysis: str | None = None
    """None: not declared."""
    references: tuple[str, ...] | None = None
    """None: not declared."""
    program_right: bool | None = None
    """None: not declared, or there is no program."""


@dataclass(frozen=True)
class Talk:
    """An act that sends a message that requests no program. `turn` records the drafts of a tutor's model."""

    text: str
    turn: TutorTurn | None = None


@dataclass(frozen=True)
class AskCode:
    """An act that sends a message that requests a program. Only the first message may be empty."""

    text: str = ""
    turn: TutorTurn | None = None


@dataclass(frozen=True)
class Execute:
    """An act that submits the latest program for judging, which ends the session."""

    turn: TutorTurn | None = None


@dataclass(frozen=True)
class GiveUp:
    """An act that closes the session without an execution."""

    reason: str


Act = Talk | AskCode | Execute | GiveUp
Decide = Callable[[TutorView], Act | Awaitable[Act]]


@dataclass(frozen=True)
class Policy:
    """A policy by name. `begin` returns the deciding function of one session; it may read what the run's record names.

    The decisions must follow from the view and the record: an interrupted session is resumed by deciding again.
    """

    name: str
    knows: frozenset[Fact]
    begin: Callable[[Chain], Awaitable[Decide]]
    texts: Callable[[], tuple[str, ...]] = tuple
    """Returns the fixed texts of its messages. A run resumes only while they are unchanged."""
    fresh_dialogues: bool = False
    """Whether every message begins a new dialogue."""


def stateless(decide: Decide) -> Callable[[Chain], Awaitable[Decide]]:
    """Return the `Policy.begin` of a policy that decides by the view alone."""

    async def begin(_chain: Chain) -> Decide:
        return decide

    return begin


def result_of(session: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends, without an event loop.

    The database may be used in it, which an event loop forbids. Raises RuntimeError if it suspends.
    """
    try:
        session.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise RuntimeError("The session suspended, but it must not wait for a model.")
