"""The usage of a run: tokens, time and cost."""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from benchmark.model_calls import Price
from benchmark.model_calls.pricing import price_for
from benchmark.models import Generation, Run
from benchmark.providers import is_scripted, parse_model_spec

TOKEN_KINDS = ("input", "output", "cached_input", "reasoning")


@dataclass(frozen=True)
class Tokens:
    """The tokens of one kind over all generations of a run. For `unknown` generations the provider reports none."""

    kind: str
    known: int
    unknown: int


@dataclass(frozen=True)
class Usage:
    """The usage of all replies of a run's model, cached ones included.

    `seconds` is the total time of calls, `wall_seconds` the time from start to end of the run (None before its end).
    `cost` is in US dollars, None without a price or known tokens. It is a lower bound (`cost_at_least`) if the
    tokens of some generations are unknown or calls were interrupted: these have no complete reply and are possibly
    billed.
    """

    generations: int
    tokens: tuple[Tokens, ...]
    seconds: float
    wall_seconds: float | None
    price: Price | None
    cost: float | None
    cost_at_least: bool
    calls_broken_off: int


def replies_of(run: Run) -> QuerySet[Generation]:
    """Return the replies of the run's model, without those of a model in the role of the tutor."""
    replies = Generation.objects.filter(work_item__run=run)
    if hasattr(run, "tutor"):
        replies = replies.exclude(purpose=Generation.Purpose.TUTOR)
    return replies


def measure_usage(run: Run, usual_price: Price | None = None) -> Usage:
    """Return the usage of a run. An index alone answers the query over the replies.

    The calls of a model in the role of the tutor have another price and are left out; `RunTutor` counts them.

    `usual_price` overrides the price stored with the run. It is the price of single calls; a run in batches has the
    discount of batches.
    """
    sums = {f"{kind}_sum": Sum(f"{kind}_tokens") for kind in TOKEN_KINDS}
    known = {f"{kind}_known": Count(f"{kind}_tokens") for kind in TOKEN_KINDS}
    row = replies_of(run).aggregate(generations=Count("pk"), seconds=Sum("latency"), **sums, **known)
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
