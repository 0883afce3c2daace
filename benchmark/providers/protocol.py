"""The interface of model providers, independent of the company."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """A message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Parameters:
    """Sampling parameters. None: the parameter is not sent, and the provider's default applies."""

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None

    def to_json(self) -> dict[str, float | int]:
        """Return the parameters that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Parameters:
        """Return the parameters of `to_json`. Raises ValueError for an unknown name."""
        unknown = sorted(data.keys() - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"Not a sampling parameter: {', '.join(unknown)}.")
        return cls(**data)


@dataclass(frozen=True)
class TokenUsage:
    """Tokens that the provider reports; None where it does not.

    `input_tokens` include the cached ones and `output_tokens` the reasoning, however the provider counts them.
    """

    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    reasoning_tokens: int | None


@dataclass(frozen=True)
class TextDelta:
    """A piece of the reply's text."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """A piece of the model's visible reasoning, which is not part of the reply."""

    text: str


@dataclass(frozen=True)
class Completed:
    """The last event of every complete reply; `model` is the id that the provider returned, not the requested one.

    `finish_reason` is "stop", "length", "refusal", or the provider's own word for anything else.
    """

    usage: TokenUsage
    model: str
    finish_reason: str
    request_id: str


StreamEvent = TextDelta | ReasoningDelta | Completed


class Provider(Protocol):
    """A client of one provider, for one event loop. Its opener closes it with `aclose`."""

    scripted: bool

    def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """Yield the events of one call, as an asynchronous generator: pieces of the reply, then one `Completed`.

        Raises ProviderError and nothing else when the reply is not complete; nothing is retried. Closing the generator
        ends the call and its costs.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
