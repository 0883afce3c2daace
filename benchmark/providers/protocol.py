"""The interface of model providers, independent of the company."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]

EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
"""The words for a reasoning effort, from least to most. A model may accept only some of them."""


@dataclass(frozen=True)
class Message:
    """A message of a conversation.

    `blocks` are the blocks that the provider returned beside the text of an assistant's message, such as signed
    thinking. Only the provider that wrote them sends them back.
    """

    role: Role
    content: str
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)


@dataclass(frozen=True)
class Parameters:
    """Sampling parameters. None: the parameter is not sent, and the provider's default applies.

    `reasoning` is an effort (one of `EFFORTS`) or a number of tokens; `extra` are further request fields, which
    `check_extra` validates.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    reasoning: str | int | None = None
    extra: Mapping[str, Any] | None = field(default=None, hash=False)

    def to_json(self) -> dict[str, Any]:
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
    """Tokens that the provider reports; None if it does not.

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

    `finish_reason` is "stop", "length", "refusal", or the provider's own word for anything else. `blocks` belong in
    `Message.blocks` when the reply becomes a message of the next request.
    """

    usage: TokenUsage
    model: str
    finish_reason: str
    request_id: str
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)


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


class ScriptedProvider(Provider, Protocol):
    """A provider whose replies are scripted, so that it knows all its models."""

    def require_model(self, model: str) -> None:
        """Raise ProviderError (kind "configuration") for a model that does not exist or cannot be read."""
        ...
