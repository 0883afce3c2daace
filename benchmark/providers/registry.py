"""The registry of providers, and the texts that select a model: `provider:model`, `provider@endpoint:model`.

Importing this module loads no SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from django.conf import settings

from benchmark.providers.batching import BatchingProvider
from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import EFFORTS, Parameters, Provider, ScriptedProvider
from benchmark.providers.rules import ANY_PARAMETERS, ParameterRules


@dataclass(frozen=True)
class ProviderEntry:
    """A provider; `path` and `batching` are "module:class", loaded at first use, without constructor arguments.

    `requires` is the setting without which it cannot be opened; blank: none. `batching` is blank for a provider without
    batches; a call in a batch costs `batch_price` times the usual price. `address` is the setting with the address.
    Classes of a provider with `endpoints` accept the name of a server in MODEL_ENDPOINTS as an argument.
    """

    path: str
    requires: str = ""
    scripted: bool = False
    batching: str = ""
    batch_price: float = 1.0
    draws_by_seed: bool = False
    """Whether replies depend on the messages and the seed alone, so that every draw needs a seed of its own."""
    address: str = ""
    endpoints: bool = False
    rules: ParameterRules = ANY_PARAMETERS


_CHAT_RULES = ParameterRules(
    frozenset({"max_completion_tokens", "reasoning_effort", "seed"}), least_budget=None
)

PROVIDERS = {
    "openai": ProviderEntry(
        "benchmark.providers.openai_chat:OpenAIProvider",
        requires="OPENAI_API_KEY",
        batching="benchmark.providers.openai_batches:OpenAIBatches",
        batch_price=0.5,
        address="OPENAI_BASE_URL",
        rules=_CHAT_RULES,
    ),
    "anthropic": ProviderEntry(
        "benchmark.providers.anthropic_messages:AnthropicProvider",
        requires="ANTHROPIC_API_KEY",
        batching="benchmark.providers.anthropic_batches:AnthropicBatches",
        batch_price=0.5,
        address="ANTHROPIC_BASE_URL",
        rules=ParameterRules(
            frozenset({"thinking", "output_config"}),
            seed=False,
            efforts=EFFORTS[1:],
            least_budget=1024,
            fixed_sampling=True,
            # The API requires a limit in every request. This one leaves room for reasoning and is valid for every
            # current model.
            default_output=16_384,
        ),
    ),
    "compatible": ProviderEntry(
        "benchmark.providers.openai_chat:CompatibleProvider",
        requires="COMPATIBLE_BASE_URL",
        batching="benchmark.providers.openai_batches:CompatibleBatches",
        address="COMPATIBLE_BASE_URL",
        endpoints=True,
        rules=_CHAT_RULES,
    ),
    "openai-responses": ProviderEntry(
        "benchmark.providers.openai_responses:OpenAIResponses",
        requires="OPENAI_API_KEY",
        batching="benchmark.providers.openai_batches:OpenAIResponsesBatches",
        batch_price=0.5,
        address="OPENAI_BASE_URL",
        endpoints=True,
        rules=ParameterRules(frozenset({"max_output_tokens", "reasoning"}), seed=False, least_budget=None),
    ),
    "practice": ProviderEntry("benchmark.providers.practice:PracticeProvider", scripted=True),
    "simulated": ProviderEntry(
        "benchmark.providers.simulated:SimulatedProvider", scripted=True, draws_by_seed=True
    ),
    "simulated-checker": ProviderEntry(
        "benchmark.providers.simulated_checkers:SimulatedCheckers", scripted=True
    ),
    "simulated-tutor": ProviderEntry("benchmark.providers.simulated_tutors:SimulatedTutors", scripted=True),
}
"""All providers by name. A new one is a module, an entry here, and its settings in config/settings.py."""


class NamedEndpoint(Protocol):
    """An entry of the setting MODEL_ENDPOINTS. Both values are secret: the address may contain a password."""

    @property
    def url(self) -> str: ...
    @property
    def key(self) -> str: ...


class ModelSpecError(ValueError):
    """A text that is not a valid `provider:model`; the message explains the form."""


@dataclass(frozen=True)
class ModelSpec:
    """A model of a provider; `str()` returns its `provider:model` or `provider@endpoint:model` text.

    `endpoint` is the name of a server in the setting MODEL_ENDPOINTS; blank: the provider's usual address.
    """

    provider: str
    model: str
    endpoint: str = ""

    def __str__(self) -> str:
        return (
            f"{self.provider}@{self.endpoint}:{self.model}"
            if self.endpoint
            else f"{self.provider}:{self.model}"
        )


_ENDPOINT_NAME = re.compile(r"[a-z0-9_]+")


def parse_model_spec(text: str) -> ModelSpec:
    """Return the model of a `provider:model` or `provider@endpoint:model` text.

    The model's name may contain colons and slashes. The endpoint need not be known: texts in old rows stay readable.
    Raises ModelSpecError for an unknown provider, an endpoint where the provider has none, or an empty or unprintable
    model name.
    """
    selected, colon, model = (part.strip() for part in text.partition(":"))
    provider, at, endpoint = selected.partition("@")
    if provider not in PROVIDERS or not colon or not model or not model.isprintable():
        raise ModelSpecError(
            f"{text!r} is not a model: write PROVIDER:MODEL, for instance openai:gpt-4o or practice:student. "
            f"Known providers: {', '.join(PROVIDERS)}."
        )
    if at and not (PROVIDERS[provider].endpoints and _ENDPOINT_NAME.fullmatch(endpoint)):
        names = ", ".join(name for name, entry in PROVIDERS.items() if entry.endpoints)
        raise ModelSpecError(
            f"{text!r} is not a model: write PROVIDER@ENDPOINT:MODEL, for instance compatible@lab:llama3, with an "
            f"endpoint of lower-case letters, digits and _. Providers with named endpoints: {names}."
        )
    return ModelSpec(provider, model, endpoint)


def find_endpoint(name: str) -> NamedEndpoint:
    """Return the named endpoint of the settings.

    Raises ProviderError (kind "configuration") for an unknown one; the message lists the known names.
    """
    endpoints: Mapping[str, NamedEndpoint] = settings.MODEL_ENDPOINTS
    if name not in endpoints:
        raise ProviderError(
            "configuration",
            f"There is no endpoint {name!r}. Set MODEL_ENDPOINT_{name.upper()}_URL and start again. "
            f"Known endpoints: {', '.join(sorted(endpoints)) or 'none'}.",
        )
    return endpoints[name]


def check_parameters(provider: str, parameters: Parameters) -> None:
    """Raise ValueError for parameters that the provider's API refuses; the message says what to change."""
    PROVIDERS[provider].rules.check(parameters)


def longest_reply(provider: str, parameters: Parameters) -> int | None:
    """Return the output limit of the provider's requests, in tokens; None: they have no limit."""
    return PROVIDERS[provider].rules.longest_reply(parameters)


def check_extra(provider: str, extra: object) -> None:
    """Raise ValueError for extra request fields that the provider does not allow; the message names the field."""
    PROVIDERS[provider].rules.check_extra(extra)


def require_valid(provider: str, parameters: Parameters) -> None:
    """Raise ProviderError (kind "bad_request") for parameters that the provider's API refuses."""
    try:
        check_parameters(provider, parameters)
    except ValueError as error:
        raise ProviderError("bad_request", f"{provider}: {error}") from None


def provider_names() -> list[str]:
    """Return the names of all providers."""
    return list(PROVIDERS)


def required_settings() -> dict[str, str]:
    """Return, by provider, the name of the setting without which it cannot be opened."""
    return {name: entry.requires for name, entry in PROVIDERS.items() if entry.requires}


def is_scripted(spec: ModelSpec) -> bool:
    """Return whether the replies are scripted; results must not be drawn from them."""
    return PROVIDERS[spec.provider].scripted


def draws_by_seed(spec: ModelSpec) -> bool:
    """Return whether the provider's replies depend on the messages and the seed alone."""
    return PROVIDERS[spec.provider].draws_by_seed


def address_of(spec: ModelSpec) -> str:
    """Return the address of the model's server, blank for the usual one: another server is another model.

    Raises ProviderError (kind "configuration") for an unknown endpoint.
    """
    if spec.endpoint:
        return find_endpoint(spec.endpoint).url
    address: str = getattr(settings, PROVIDERS[spec.provider].address, "")
    return address


_forbidden: list[str] = []
"""The reasons why this process must not open a provider. Empty: it may."""


def forbid_providers(reason: str) -> None:
    """Refuse to open a provider in this process from now on. Its errors state the reason."""
    _forbidden.append(reason)


def open_provider(spec: ModelSpec) -> Provider:
    """Return a new client for the caller's event loop; the caller closes it with `aclose`.

    Raises ProviderError (kind "configuration") when a key or an address is missing, the endpoint is unknown, a scripted
    model does not exist, or this process must not call models.
    """
    provider = _open(PROVIDERS[spec.provider].path, spec)
    if is_scripted(spec):
        cast(ScriptedProvider, provider).require_model(spec.model)
    return cast(Provider, provider)


def open_batching_provider(spec: ModelSpec) -> BatchingProvider:
    """Return a new client with batches; see `open_provider`. Raises ProviderError for a provider without batches."""
    return cast(BatchingProvider, _open(_batching(spec).batching, spec))


def price_factor(spec: ModelSpec, *, batch: bool) -> float:
    """Return the price of a call as a fraction of the usual price: less than 1 in a batch with a known discount.

    Raises ProviderError (kind "configuration") for a batch of a provider without batches.
    """
    return _batching(spec).batch_price if batch else 1.0


def _batching(spec: ModelSpec) -> ProviderEntry:
    entry = PROVIDERS[spec.provider]
    if not entry.batching:
        raise ProviderError(
            "configuration", f"The provider {spec.provider} does not accept batches. Leave out --batch."
        )
    return entry


def _open(path: str, spec: ModelSpec) -> object:
    if _forbidden:
        raise ProviderError("configuration", f"The model {spec} is not opened: {_forbidden[0]}.")
    module, _, name = path.partition(":")
    provider = getattr(import_module(module), name)
    return provider(spec.endpoint) if spec.endpoint else provider()
