"""The registry of providers, and the `provider:model` texts that select one. Importing this module loads no SDK."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from django.conf import settings

from benchmark.providers.batching import BatchingProvider
from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Provider


@dataclass(frozen=True)
class ProviderEntry:
    """A provider; `path` and `batching` are "module:class", loaded at first use, without constructor arguments.

    `requires` is the setting without which it cannot be opened; blank: none. `batching` is blank for a provider without
    batches; a call in a batch costs `batch_price` times the usual price.
    """

    path: str
    requires: str = ""
    scripted: bool = False
    batching: str = ""
    batch_price: float = 1.0
    draws_by_seed: bool = False
    """Whether replies depend on the messages and the seed alone, so that every draw needs a seed of its own."""


PROVIDERS = {
    "openai": ProviderEntry(
        "benchmark.providers.openai_chat:OpenAIProvider",
        requires="OPENAI_API_KEY",
        batching="benchmark.providers.openai_batches:OpenAIBatches",
        batch_price=0.5,
    ),
    "anthropic": ProviderEntry(
        "benchmark.providers.anthropic_messages:AnthropicProvider",
        requires="ANTHROPIC_API_KEY",
        batching="benchmark.providers.anthropic_batches:AnthropicBatches",
        batch_price=0.5,
    ),
    "compatible": ProviderEntry(
        "benchmark.providers.openai_chat:CompatibleProvider",
        requires="COMPATIBLE_BASE_URL",
        batching="benchmark.providers.openai_batches:CompatibleBatches",
    ),
    "practice": ProviderEntry("benchmark.providers.practice:PracticeProvider", scripted=True),
    "simulated": ProviderEntry(
        "benchmark.providers.simulated:SimulatedProvider", scripted=True, draws_by_seed=True
    ),
}
"""All providers by name. A new one is a module, an entry here, and its settings in config/settings.py."""


class ModelSpecError(ValueError):
    """A text that is no valid `provider:model`; the message explains the form."""


@dataclass(frozen=True)
class ModelSpec:
    """A model of a provider; `str()` returns its `provider:model` text."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model_spec(text: str) -> ModelSpec:
    """Return the model of a `provider:model` text. The model's name may contain colons and slashes.

    Raises ModelSpecError for an unknown provider or an empty or unprintable model name.
    """
    provider, colon, model = (part.strip() for part in text.partition(":"))
    if provider not in PROVIDERS or not colon or not model or not model.isprintable():
        raise ModelSpecError(
            f"{text!r} is not a model: write PROVIDER:MODEL, for instance openai:gpt-4o or practice:student. "
            f"Known providers: {', '.join(PROVIDERS)}."
        )
    return ModelSpec(provider, model)


def provider_names() -> list[str]:
    """Return the names of all providers."""
    return list(PROVIDERS)


def required_settings() -> dict[str, str]:
    """Return by provider the name of the setting without which it cannot be opened."""
    return {name: entry.requires for name, entry in PROVIDERS.items() if entry.requires}


def is_scripted(spec: ModelSpec) -> bool:
    """Return whether the replies are scripted; results must not be drawn from them."""
    return PROVIDERS[spec.provider].scripted


def draws_by_seed(spec: ModelSpec) -> bool:
    """Return whether the provider's replies depend on the messages and the seed alone."""
    return PROVIDERS[spec.provider].draws_by_seed


def address_of(spec: ModelSpec) -> str:
    """Return the provider's address where it differs from the usual one: another server is another model."""
    address: str = getattr(settings, f"{spec.provider.upper()}_BASE_URL", "")
    return address


def open_provider(spec: ModelSpec) -> Provider:
    """Return a new client for the caller's event loop; the caller closes it with `aclose`.

    Raises ProviderError (kind "configuration") when a key or an address is missing.
    """
    return cast(Provider, _open(PROVIDERS[spec.provider].path))


def open_batching_provider(spec: ModelSpec) -> BatchingProvider:
    """Return a new client with batches; see `open_provider`. Raises ProviderError for a provider without batches."""
    return cast(BatchingProvider, _open(_batching(spec).batching))


def price_factor(spec: ModelSpec, *, batch: bool) -> float:
    """Return the price of a call as a fraction of the usual price: less than 1 in a batch with a known discount.

    Raises ProviderError (kind "configuration") for a batch of a provider without batches.
    """
    return _batching(spec).batch_price if batch else 1.0


def _batching(spec: ModelSpec) -> ProviderEntry:
    entry = PROVIDERS[spec.provider]
    if not entry.batching:
        raise ProviderError(
            "configuration", f"The provider {spec.provider} takes no batches. Leave out --batch."
        )
    return entry


def _open(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)()
