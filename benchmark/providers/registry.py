"""The providers by name, and the `provider:model` texts that choose one. Importing this loads no SDK."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from django.conf import settings

from benchmark.providers.protocol import Provider


@dataclass(frozen=True)
class _Entry:
    """`path` is "module:class", loaded at first use; the class takes no argument."""

    path: str
    scripted: bool = False


_PROVIDERS = {
    "openai": _Entry("benchmark.providers.openai_chat:OpenAIProvider"),
    "anthropic": _Entry("benchmark.providers.anthropic_messages:AnthropicProvider"),
    "compatible": _Entry("benchmark.providers.openai_chat:CompatibleProvider"),
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
    module, _, name = _PROVIDERS[spec.provider].path.partition(":")
    return cast(Provider, getattr(import_module(module), name)())
