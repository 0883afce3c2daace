"""What a run has used: tokens, time and money."""

from dataclasses import dataclass

from django.db.models import Count, Sum

from benchmark.model_calls import Price
from benchmark.model_calls.pricing import price_for
from benchmark.models import Generation, Run
from benchmark.providers import is_scripted, parse_model_spec

TOKEN_KINDS = ("input", "output", "cached_input", "reasoning")


@dataclass(frozen=True)
class Tokens:
    """The tokens of all generations of the run; of `unknown` generations the provider did not say them."""

    kind: str
    known: int
    unknown: int


@dataclass(frozen=True)
class Usage:
    """What all replies of a run took, those that came from the cache too.

    `seconds` is the time of all calls together, `wall_seconds` from the start of the run to its end (None before);
    `cost` is in US dollars: None without a price, `cost_at_least` when some generations' tokens are unknown or calls
    broke off. These gave no complete reply and are possibly billed.
    """

    generations: int
    tokens: tuple[Tokens, ...]
    seconds: float
    wall_seconds: float | None
    price: Price | None
    cost: float | None
    cost_at_least: bool
    calls_broken_off: int


def measure_usage(run: Run, usual_price: Price | None = None) -> Usage:
    """One query, answered from an index alone. `usual_price` goes before what is stored with the run.

    It is that of single calls: a run in batches pays the part of it that batches cost.
    """
    sums = {f"{kind}_sum": Sum(f"{kind}_tokens") for kind in TOKEN_KINDS}
    known = {f"{kind}_known": Count(f"{kind}_tokens") for kind in TOKEN_KINDS}
    row = Generation.objects.filter(work_item__run=run).aggregate(
        generations=Count("pk"), seconds=Sum("latency"), **sums, **known
    )
    generations: int = row["generations"]
    tokens = tuple(
        Tokens(kind, row[f"{kind}_sum"] or 0, generations - row[f"{kind}_known"]) for kind in TOKEN_KINDS
    )
    spec = parse_model_spec(run.model_spec)
    price = Price.of_run(run)
    if usual_price or (price is None and is_scripted(spec)):
        price = price_for(spec, usual_price, batch=run.in_batches)
    billed = tokens[:2]
    at_least = any(counted.unknown for counted in billed) or run.calls_broken_off > 0
    cost = None
    if price is not None and (not generations or any(counted.unknown < generations for counted in billed)):
        cost = price.of(*(counted.known for counted in tokens[:3]))
    return Usage(
        generations=generations,
        tokens=tokens,
        seconds=row["seconds"] or 0.0,
        wall_seconds=(run.finished_at - run.started_at).total_seconds() if run.finished_at else None,
        price=price,
        cost=cost,
        cost_at_least=cost is not None and at_least,
        calls_broken_off=run.calls_broken_off,
    )
