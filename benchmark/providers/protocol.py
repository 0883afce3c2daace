"""What every model provider takes and gives, whoever the company behind it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True)
class Parameters:
    """Sampling parameters. None means the provider's default, and the parameter is not sent."""

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None

    def to_json(self) -> dict[str, float | int]:
        """What was asked for, without what was left to the provider."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Parameters:
        """The reverse of `to_json`. Raises ValueError for a name that is no parameter."""
        unknown = sorted(data.keys() - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"Not a sampling parameter: {', '.join(unknown)}.")
        return cls(**data)


@dataclass(frozen=True)
class TokenUsage:
    """Tokens the provider says it used; None where it did not say.

    `input_tokens` includes the cached ones and `output_tokens` the reasoning, whatever the provider's own
    way of counting is.
    """

    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    reasoning_tokens: int | None


@dataclass(frozen=True)
class TextDelta:
    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """A piece of the model's reasoning, where the provider shows it. It is not part of the reply."""

    text: str


@dataclass(frozen=True)
class Completed:
    """The last event of every complete reply: `model` is the id the provider returned, not the one asked for.

    `finish_reason` is "stop", "length", "refusal", or the provider's own word for anything else.
    """

    usage: TokenUsage
    model: str
    finish_reason: str
    request_id: str


StreamEvent = TextDelta | ReasoningDelta | Completed


class Provider(Protocol):
    """A client of one provider, for one event loop: whoever opened it closes it with `aclose`."""

    scripted: bool

    def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """One call, as an asynchronous generator: pieces as they come, then exactly one `Completed`.

        Raises ProviderError, and nothing else, when the reply does not arrive complete; nothing is retried.
        Closing the generator ends the call and its costs.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections."""
        ...
