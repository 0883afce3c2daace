"""A provider with two models: `memoriser` completes the texts it knows verbatim, `honest` writes generic sentences."""

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from benchmark.providers import (
    Completed,
    Message,
    Parameters,
    ProviderError,
    StreamEvent,
    TextDelta,
    TokenUsage,
)

GENERIC = (
    "Given N cows and M fields, compute the answer. The first line of input contains two integers N and M. "
    "The next line contains N integers. Output a single integer, the answer. "
)


class ScriptedMemory:
    """The provider. `known` holds the texts that the memoriser has seen; `calls` counts the calls of both."""

    scripted = True
    known: ClassVar[list[str]] = []
    calls: ClassVar[int] = 0

    def require_model(self, model: str) -> None:
        """Raise ProviderError (kind "configuration") for a third model."""
        if model not in ("memoriser", "honest"):
            raise ProviderError("configuration", f"There is no scripted memory {model!r}.")

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """Yield the rest of a known text, or generic sentences."""
        ScriptedMemory.calls += 1
        prompt = messages[-1].content
        beginning = prompt.partition("[BEGIN ")[2].partition("]\n")[2].rpartition("\n[END ")[0]
        rests = [text[len(beginning) :] for text in self.known if text.startswith(beginning)]
        reply = rests[0] if rests and model == "memoriser" else GENERIC
        yield TextDelta(reply)
        yield Completed(TokenUsage(len(prompt) // 4, len(reply) // 4, 0, 0), model, "stop", "scripted")

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""
