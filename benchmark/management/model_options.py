"""Options and cost estimates of the commands that call a model."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.arguments import dollars, positive
from benchmark.management.interrupts import run_interruptibly
from benchmark.management.progress import write_line
from benchmark.model_calls import Price, RateLimits, RunBudget, Spending, Stop
from benchmark.model_calls.pricing import price_for
from benchmark.model_calls.requests import ModelRequest, RequestMonitor, SpendTracker, send_all
from benchmark.providers import ModelSpec, Parameters, open_batching_provider, open_provider
from benchmark.reports.formatting import format_faults
from benchmark.runner import Estimate, RunOptions
from judge.management.tables import aligned

REQUEST_ASSUMPTIONS = (
    "Assumed: replies of 500 tokens (low), 1,500 (expected) and 8,000 (high), or --max-output-tokens where that is "
    "less. A token is counted as 4.5, 4 and 3 characters of a prompt."
)


PRICE_HELP = (
    "US dollars for a million tokens; default: the price of the model that the package genai-prices ships, else the "
    "cost is unknown"
)


def add_model_options(parser: CommandParser, spender: str) -> None:
    """Add the options of the model calls and their budget; `spender` is the subject of the budget in the help."""
    parser.add_argument("--temperature", type=_temperature, metavar="T", help="default: the provider's")
    parser.add_argument(
        "--max-output-tokens", type=positive, metavar="N", help="longest reply; default: the provider's"
    )
    add_limits(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="make no call; print the calls and tokens that would be needed",
    )
    add_budget(parser, spender)
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")


def add_budget(parser: CommandParser, spender: str) -> None:
    """Add the price and the bounds on spending; `spender` is their subject in the help, with its verb."""
    parser.add_argument(
        "--price",
        nargs=2,
        type=dollars,
        metavar=("INPUT", "OUTPUT"),
        help=PRICE_HELP,
    )
    for name, kind, help in (
        ("cost", dollars, "US dollars; needs a known price"),
        ("tokens", positive, "tokens, input and output together"),
        ("calls", positive, "calls of the model"),
    ):
        parser.add_argument(
            f"--max-{name}",
            type=kind,
            metavar="N",
            help=f"stop, after the calls in flight, when {spender} spent N {help}",
        )


def add_limits(parser: CommandParser, concurrency: str = "calls in flight; default: 8") -> None:
    """Add the limits of all processes of a model together, and of a prompt's length."""
    for name, help in (
        ("concurrency", concurrency),
        ("requests-per-minute", "calls a minute"),
        ("tokens-per-minute", "tokens a minute"),
    ):
        parser.add_argument(
            f"--{name}", type=positive, metavar="N", help=f"{help}; of all processes of the model together"
        )
    parser.add_argument(
        "--context-tokens",
        type=positive,
        metavar="N",
        help="the model's context: a prompt that leaves no room for the reply is not sent",
    )


def price_of(
    options: Mapping[str, Any], spec: ModelSpec | None, *, former: Price | None = None, batch: bool = False
) -> Price | None:
    """Return the price from --price, else the run's `former` price, else the listed one; None: unknown.

    Raises ProviderError for batches of a provider without them.
    """
    if spec is None:
        return None
    given = Price(*options["price"]) if options["price"] else None
    return former if former and not given else price_for(spec, given, batch=batch)


def run_options(options: Mapping[str, Any], price: Price | None, former: RunOptions) -> RunOptions:
    """Return the former run options with this price and with what the command line sets."""

    def given(kind: type, prefix: str) -> dict[str, Any]:
        values = {field.name: options.get(prefix + field.name) for field in fields(kind)}
        return {name: value for name, value in values.items() if value is not None}

    return replace(
        former,
        price=price,
        budget=replace(former.budget, **given(RunBudget, "max_")),
        limits=replace(former.limits, **given(RateLimits, "")),
        distributed=options.get("distribute") or former.distributed,
    )


def _temperature(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 2:
            return value
    raise ArgumentTypeError(f"{text!r} is not a number from 0 to 2")


def sampling(options: Mapping[str, Any]) -> Parameters:
    """Return the sampling parameters of the options."""
    return Parameters(temperature=options["temperature"], max_output_tokens=options["max_output_tokens"])


def spend_tracker(options: Mapping[str, Any], spec: ModelSpec, spent: Spending) -> SpendTracker:
    """Return a tracker without a run, which starts at `spent`. Raises CommandError for --max-cost without a price."""
    chosen = run_options(options, price_of(options, spec), RunOptions())
    if chosen.budget.cost is not None and chosen.price is None:
        raise CommandError(
            f"--max-cost needs --price INPUT OUTPUT: no price is listed for {spec}, so its cost is unknown."
        )
    return SpendTracker(chosen.price, chosen.budget, chosen.limits, spent=spent)


def estimates_table(
    estimates: Mapping[str, Estimate], price: Price | None, assumed: str = REQUEST_ASSUMPTIONS
) -> list[str]:
    """Return the lines of a table of estimates, and the text about its assumptions."""
    rows = [("", "calls", "input tokens", "output tokens", "US dollars")]
    rows += [
        (
            name,
            f"{one.generations:,}",
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            "unknown" if price is None else f"{one.cost(price):,.2f}",
        )
        for name, one in estimates.items()
    ]
    return [*aligned(rows), assumed]


def estimates_json(estimates: Mapping[str, Estimate], price: Price | None) -> dict[str, Any]:
    """Return the estimates for --json."""
    return {
        name: asdict(one) | {"cost_usd": None if price is None else one.cost(price)}
        for name, one in estimates.items()
    }


def send_under_bar(
    bar: "tqdm[Any]",
    requests: Sequence[ModelRequest],
    spec: ModelSpec,
    parameters: Parameters,
    tracker: SpendTracker,
) -> list[str] | None:
    """Send requests that belong to no run, under the bar. Return why some are left, or None when none is.

    Without requests the model's key is not needed. Raises ProviderError.
    """
    if not requests:
        return None
    monitor = monitor_under(bar, Stop(), tracker)
    outcome = run_interruptibly(send_all(requests, spec, parameters, tracker, monitor), monitor.stop)
    if outcome and outcome.done == len(requests):
        return None
    stopped = [f"Stopped: {monitor.stop.reason}"] if monitor.stop.reason else []
    return [*stopped, *format_faults(outcome.faults if outcome else {})]


def monitor_under(bar: "tqdm[Any]", stop: Stop, tracker: SpendTracker | None) -> RequestMonitor:
    """Return a monitor that shows steps in the bar, with the cost where a tracker is given."""

    def advance() -> None:
        if tracker:
            bar.set_postfix(dollars=tracker.summary, refresh=False)
        bar.update()

    return RequestMonitor(stop, bar.reset, advance, write_line)


async def try_to_open(spec: ModelSpec, *, batch: bool = False) -> None:
    """Raise ProviderError when the provider's key or address is missing, or it has no batches."""
    if not batch:
        await open_provider(spec).aclose()
        return
    provider = open_batching_provider(spec)
    try:
        await provider.check_batches()
    finally:
        await provider.aclose()
