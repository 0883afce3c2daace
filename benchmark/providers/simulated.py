"""`simulated:WORLD`: students whose probability of a right program is stated in a data file (`worlds`).

They write programs of the practice packages, so that the real judge decides. Every reply is a function of the world,
the messages and the sampling seed.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Sequence

from benchmark.providers.errors import ProviderError
from benchmark.providers.practice import requests_no_program
from benchmark.providers.protocol import Completed, Message, Parameters, StreamEvent, TextDelta, TokenUsage
from benchmark.providers.worlds import Situation, World, WorldError, read_world, situation_of

_UNKNOWN = (
    "I am a simulated student, not a language model. I only know the practice problems of my world, and this seems to "
    "be another problem. Choose a practice problem, or another model for this one."
)
_WORDS = "I have thought about what you wrote. This is a simulated reply without a program."
_PROGRAM = "This is the program of a simulated student."


class SimulatedProvider:
    """The simulated students as a provider; its models are the worlds."""

    scripted = True

    def require_model(self, model: str) -> None:
        """Raise ProviderError (kind "configuration") for an unknown or invalid world."""
        _world(model)

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """Yield the student's reply, whose draw depends on the messages and on `parameters.seed` alone.

        Words separated by blanks count as tokens; other parameters have no effect. Raises ProviderError (kind
        "configuration") for an unknown or invalid world.
        """
        world = _world(model)
        await asyncio.sleep(0)
        text = reply_to(world, messages, parameters.seed)
        yield TextDelta(text)
        words = sum(len(message.content.split()) for message in messages)
        usage = TokenUsage(words, len(text.split()), cached_input_tokens=0, reasoning_tokens=0)
        yield Completed(
            usage, model, "stop", request_id=f"simulated-{_digest(world, messages, parameters.seed)[:16]}"
        )

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _world(name: str) -> World:
    try:
        return read_world(name)
    except WorldError as error:
        raise ProviderError("configuration", str(error)) from None


def reply_to(world: World, messages: Sequence[Message], seed: int | None) -> str:
    """Return the student's reply: one program in a fenced block, unless the last message requests none."""
    situation = situation_of(world, messages)
    if situation is None:
        return _UNKNOWN
    if requests_no_program(messages[-1].content.rsplit("\n\n", 1)[-1]):
        return _WORDS
    program = world.problems[situation.slug].program(situation.slug, _drawn(world, situation, messages, seed))
    return f"{_PROGRAM}\n\n```python\n{program}\n```"


def _drawn(world: World, situation: Situation, messages: Sequence[Message], seed: int | None) -> str | None:
    """Return the bug of the next program; None: it is right. A wrong program keeps its bug."""
    digest = bytes.fromhex(_digest(world, messages, seed))
    first, second = (int.from_bytes(digest[at : at + 8]) / 2**64 for at in (0, 8))
    if first < situation.probability:
        return None
    if situation.bug is not None:
        return situation.bug
    weights = world.problems[situation.slug].weights
    for name, weight in weights.items():
        second -= weight
        if second < 0:
            return name
    return next(reversed(weights))


def _digest(world: World, messages: Sequence[Message], seed: int | None) -> str:
    said = [world.digest, seed, [(message.role, message.content) for message in messages]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
