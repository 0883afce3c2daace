"""The price of a model: the given one, else that of the snapshot in genai-prices, else unknown."""

from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from benchmark.model_calls.budget import Price
from benchmark.providers import ModelSpec, address_of, is_scripted, price_factor

_LISTED = {
    "openai": ("openai", "api.openai.com"),
    "openai-responses": ("openai", "api.openai.com"),
    "anthropic": ("anthropic", "api.anthropic.com"),
}
"""Providers with prices in the snapshot: their name there, and the host that these prices apply to."""

SCRIPTED = Price(0.0, 0.0, source="a program, no model")
"""The price of scripted replies."""


def price_for(spec: ModelSpec, given: Price | None = None, *, batch: bool = False) -> Price | None:
    """Return the price of single calls or of calls in batches; None: unknown.

    `given` is the price of single calls and overrides the snapshot. Raises ProviderError (kind
    "configuration") for batches of a provider without them.
    """
    factor = price_factor(spec, batch=batch)
    usual = given or (SCRIPTED if is_scripted(spec) else _listed_price(spec))
    return usual.times(factor) if usual else None


def _listed_price(spec: ModelSpec) -> Price | None:
    """Return the model's current price in the snapshot; None for an unknown model or another server.

    For models that cost more with long prompts (100,000 tokens and above) it is the price of shorter ones.
    """
    if spec.provider not in _LISTED:
        return None
    listed_provider, listed_host = _LISTED[spec.provider]
    if urlsplit(address_of(spec)).hostname not in (None, listed_host):
        return None
    # Imported here: loading the snapshot takes 0.2 s and up to 100 MB.
    import genai_prices
    from genai_prices.types import TieredPrices

    usage = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        found = genai_prices.calc_price(usage, spec.model, provider_id=listed_provider)
    except LookupError:
        return None

    def listed(kind: str) -> float | None:
        price = getattr(found.model_price, kind)
        lowest_tier = price.base if isinstance(price, TieredPrices) else price
        return None if lowest_tier is None else float(lowest_tier)

    input_price, output_price = listed("input_mtok"), listed("output_mtok")
    if input_price is None or output_price is None:
        return None
    return Price(
        input_price,
        output_price,
        listed("cache_read_mtok"),
        f"genai-prices {genai_prices.__version__}, {found.model.id}",
        _newest(found.provider.models),
    )


def _newest(models: list[Any]) -> str:
    """Return the latest start date of these models' prices, in ISO form; blank without any.

    The snapshot itself has no date.
    """
    conditional = [one for model in models if isinstance(model.prices, list) for one in model.prices]
    starts = [getattr(one.constraint, "start_date", None) for one in conditional]
    today = datetime.now(UTC).date()
    return max((day.isoformat() for day in starts if isinstance(day, date) and day <= today), default="")
