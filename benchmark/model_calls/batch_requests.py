"""A request that waits for a batch, and the most that it may cost."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmark.model_calls.budget import Spending
from benchmark.providers import Message, Parameters, StreamEvent

_ASSUMED_REPLY = 16_384
"""Assumed tokens of the longest reply of a request without a limit, which no budget of tokens or money allows."""

_CHARACTERS_PER_TOKEN = 3.0
"""A low value for prompts, so that the most that a request may cost is not underestimated."""

BatchReply = tuple[tuple[StreamEvent, ...], float]
"""The events of a reply, and the seconds that its batch took."""


@dataclass(eq=False)
class BatchRequest:
    """A request of a chain that waits for its reply of at most `longest` tokens; None: it has no limit."""

    name: str
    messages: Sequence[Message]
    parameters: Parameters
    longest: int | None
    reply: "asyncio.Future[BatchReply]"
    created: float = field(default_factory=time.monotonic)
    most: Spending = field(init=False)
    """The most that it may cost."""

    def __post_init__(self) -> None:
        characters = sum(len(message.content) for message in self.messages)
        reply_tokens = self.longest or _ASSUMED_REPLY
        self.most = Spending(1, math.ceil(characters / _CHARACTERS_PER_TOKEN), reply_tokens)

    def succeed(self, reply: BatchReply) -> None:
        """Set the reply, unless the waiting chain was cancelled."""
        if not self.reply.done():
            self.reply.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Set the error, unless the waiting chain was cancelled."""
        if not self.reply.done():
            self.reply.set_exception(error)
