"""The providers by name, and the `provider:model` texts that choose one. Importing this loads no SDK."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from django.conf import settings

from benchmark.providers.batching import BatchingProvider
from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Provider


@dataclass(frozen=True)
class _Entry:
    """`path` and `batching` are "module:class", loaded at first use; the classes take no argument.

    `batching` is blank for a provider without batches; a call in one costs `batch_price` of the usual price.
    """

    path: str
    scripted: bool = False
    batching: str = ""
    batch_price: float = 1.0


_PROVIDERS = {
    "openai": _Entry(
        "benchmark.providers.openai_chat:OpenAIProvider",
        batching="benchmark.providers.openai_batches:OpenAIBatches",
        batch_price=0.5,
    ),
    "anthropic": _Entry(
        "benchmark.providers.anthropic_messages:AnthropicProvider",
        batching="benchmark.providers.anthropic_batches:AnthropicBatches",
        batch_price=0.5,
    ),
    "compatible": _Entry(
        "benchmark.providers.openai_chat:CompatibleProvider",
        batching="benchmark.providers.openai_batches:CompatibleBatches",
    ),
    "practice": _Entry("benchmark.providers.practice:PracticeProvider", scripted=True),
}


class ModelSpecError(ValueError):
    """A text that names no provider and model; its message says how one is written."""


@dataclass(frozen=True)
class ModelSpec:
    """A model of a provider; `str()` gives the `provider:model` it is written as."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model_spec(text: str) -> ModelSpec:
    """The model that `provider:model` names. The model's own name may hold colons and slashes.

    Raises ModelSpecError for an unknown provider or an empty or unprintable model name.
    """
    provider, colon, model = (part.strip() for part in text.partition(":"))
    if provider not in _PROVIDERS or not colon or not model or not model.isprintable():
        raise ModelSpecError(
            f"{text!r} is not a model: write PROVIDER:MODEL, for instance openai:gpt-4o or practice:student. "
            f"Known providers: {', '.join(_PROVIDERS)}."
        )
    return ModelSpec(provider, model)


def provider_names() -> list[str]:
    return list(_PROVIDERS)


def is_scripted(spec: ModelSpec) -> bool:
    """Whether the replies are written in advance, so that no figure may be drawn from them."""
    return _PROVIDERS[spec.provider].scripted


def address_of(spec: ModelSpec) -> str:
    """Where the spec's provider is reached, where that is not its usual address: another server, another model."""
    address: str = getattr(settings, f"{spec.provider.upper()}_BASE_URL", "")
    return address


def open_provider(spec: ModelSpec) -> Provider:
    """A new client for the spec's provider. It belongs to the caller's event loop; the caller calls `aclose`.

    Raises ProviderError (kind "configuration") when a key or an address is missing.
    """
    return cast(Provider, _open(_PROVIDERS[spec.provider].path))


def open_batching_provider(spec: ModelSpec) -> BatchingProvider:
    """As `open_provider`, for batches. Raises ProviderError (kind "configuration") for a provider without them."""
    return cast(BatchingProvider, _open(_batching(spec).batching))


def price_factor(spec: ModelSpec, *, batch: bool) -> float:
    """What a call costs, as a part of the usual price: less than 1 in a batch, where a discount is known.

    Raises ProviderError (kind "configuration") for a batch of a provider without them.
    """
    return _batching(spec).batch_price if batch else 1.0


def _batching(spec: ModelSpec) -> _Entry:
    entry = _PROVIDERS[spec.provider]
    if not entry.batching:
        raise ProviderError(
            "configuration", f"The provider {spec.provider} takes no batches. Leave out --batch."
        )
    return entry


def _open(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)()
