"""The base of providers whose models are conducts: fixed ways to answer, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import ClassVar

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Completed, Message, Parameters, StreamEvent, TextDelta, TokenUsage


class ConductProvider(ABC):
    """A provider whose models are conducts. They answer in one piece, and always in the same way."""

    scripted = True

    role: ClassVar[str]
    """The role that the conducts play, such as "tutor"."""
    conducts: ClassVar[Collection[str]]
    """The models of the provider."""
    seconds: ClassVar[Mapping[str, float]] = {}
    """The time until a conduct answers, if it does not answer at once."""

    @abstractmethod
    def answer(self, conduct: str, messages: Sequence[Message]) -> str:
        """Return the answer of a conduct."""

    def require_model(self, model: str) -> None:
        """Raise ProviderError (kind "configuration") for an unknown conduct."""
        if model not in self.conducts:
            raise ProviderError(
                "configuration",
                f"There is no simulated {self.role} {model!r}. There are: {', '.join(self.conducts)}.",
            )

    async def stream(
        self,
        model: str,
        messages: Sequence[Message],
        parameters: Parameters,  # noqa: ARG002  (no parameter has an effect)
    ) -> AsyncIterator[StreamEvent]:
        """Yield the answer to the messages. Words separated by blanks are tokens.

        Raises ProviderError (kind "configuration") for an unknown conduct.
        """
        self.require_model(model)
        await asyncio.sleep(self.seconds.get(model, 0))
        answer = self.answer(model, messages)
        yield TextDelta(answer)
        said = "\n".join(message.content for message in messages)
        usage = TokenUsage(len(said.split()), len(answer.split()), cached_input_tokens=0, reasoning_tokens=0)
        digest = hashlib.sha256(f"{model}\n{said}".encode()).hexdigest()
        yield Completed(usage, model, "stop", request_id=f"simulated-{self.role}-{digest[:16]}")

    async def aclose(self) -> None:  # noqa: B027  (no connection is to be closed)
        """Do nothing: there is no connection."""
