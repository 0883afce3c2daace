"""Language models behind one interface. Importing this package loads no SDK; opening a provider does."""

from benchmark.providers.batching import BatchingProvider
from benchmark.providers.errors import REFUSED, ProviderError
from benchmark.providers.protocol import (
    Completed,
    Message,
    Parameters,
    Provider,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TokenUsage,
)
from benchmark.providers.registry import (
    ModelSpec,
    ModelSpecError,
    address_of,
    draws_by_seed,
    is_scripted,
    open_batching_provider,
    open_provider,
    parse_model_spec,
    price_factor,
    provider_names,
    required_settings,
)
from benchmark.providers.retries import ModelReply, Restarted, RetryPolicy, complete, stream_with_retries

__all__ = [
    "REFUSED",
    "BatchingProvider",
    "Completed",
    "Message",
    "ModelReply",
    "ModelSpec",
    "ModelSpecError",
    "Parameters",
    "Provider",
    "ProviderError",
    "ReasoningDelta",
    "Restarted",
    "RetryPolicy",
    "StreamEvent",
    "TextDelta",
    "TokenUsage",
    "address_of",
    "complete",
    "draws_by_seed",
    "is_scripted",
    "open_batching_provider",
    "open_provider",
    "parse_model_spec",
    "price_factor",
    "provider_names",
    "required_settings",
    "stream_with_retries",
]
