"""A question that is to go into a batch, and the most that it may cost."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmark.model_calls.budget import Spending
from benchmark.providers import Message, Parameters, StreamEvent

_LONGEST_REPLY = 16_384
"""Tokens that a reply is taken to have at most, for budgets, where no limit is set."""

_CHARACTERS_PER_TOKEN = 3.0
"""Of prompts, for the most that a question may cost."""

Answer = tuple[tuple[StreamEvent, ...], float]
"""The events of a reply, and the seconds that its batch took."""


@dataclass(eq=False)
class ModelRequest:
    """A chain that waits for the reply to one question."""

    name: str
    messages: Sequence[Message]
    parameters: Parameters
    answer: "asyncio.Future[Answer]"
    asked: float = field(default_factory=time.monotonic)
    most: Spending = field(init=False)
    """The most that it may cost."""

    def __post_init__(self) -> None:
        characters = sum(len(message.content) for message in self.messages)
        reply = self.parameters.max_output_tokens or _LONGEST_REPLY
        self.most = Spending(1, math.ceil(characters / _CHARACTERS_PER_TOKEN), reply)

    def succeed(self, answer: Answer) -> None:
        """Here it is."""
        if not self.answer.done():  # it is when whoever asked was cancelled
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        """There is none."""
        if not self.answer.done():
            self.answer.set_exception(error)
