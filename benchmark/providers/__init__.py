"""Language models behind one interface. Importing this loads no SDK; opening a provider does."""

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
    Usage,
)
from benchmark.providers.registry import (
    ModelSpec,
    ModelSpecError,
    address_of,
    is_scripted,
    open_batching_provider,
    open_provider,
    parse_model_spec,
    part_of_price,
    provider_names,
)
from benchmark.providers.retries import Reply, Restarted, Retry, complete, stream_with_retries

__all__ = [
    "REFUSED",
    "BatchingProvider",
    "Completed",
    "Message",
    "ModelSpec",
    "ModelSpecError",
    "Parameters",
    "Provider",
    "ProviderError",
    "ReasoningDelta",
    "Reply",
    "Restarted",
    "Retry",
    "StreamEvent",
    "TextDelta",
    "Usage",
    "address_of",
    "complete",
    "is_scripted",
    "open_batching_provider",
    "open_provider",
    "parse_model_spec",
    "part_of_price",
    "provider_names",
    "stream_with_retries",
]
