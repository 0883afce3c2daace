"""What commands that ask a model about problems share: their options, the cost told beforehand, and Ctrl-C."""

import asyncio
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.arguments import dollars, positive
from benchmark.management.progress import write_line
from benchmark.model_calls import Budget, Limits, Price, Spending, Stop
from benchmark.model_calls.pricing import price_for
from benchmark.model_calls.requests import ModelRequest, SendOutcome, SpendTracker, send_all
from benchmark.providers import ModelSpec, Parameters, open_batching_provider, open_provider
from benchmark.reports.formatting import faults_told
from benchmark.runner import Estimate, RunOptions
from judge.management.tables import aligned

T = TypeVar("T")

ASSUMED = (
    "Assumed: replies of 500 tokens (low), 1,500 (expected) and 8,000 (high), or --max-output-tokens where that is "
    "less. A token is counted as 4.5, 4 and 3 characters of a prompt."
)


PRICE_HELP = (
    "US dollars for a million tokens; default: the price of the model that the package genai-prices ships, else the "
    "cost is unknown"
)


def add_model_options(parser: CommandParser, spender: str) -> None:
    """How the model is asked, and what that may cost; `spender` says of whom the bounds are."""
    parser.add_argument("--temperature", type=_temperature, metavar="T", help="default: the provider's")
    parser.add_argument(
        "--max-output-tokens", type=positive, metavar="N", help="longest reply; default: the provider's"
    )
    add_limits(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="call nobody and say how many calls and tokens it would take",
    )
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
        ("calls", positive, "calls"),
    ):
        parser.add_argument(
            f"--max-{name}",
            type=kind,
            metavar="N",
            help=f"stop, after what is in flight, when {spender} spent so many {help}",
        )
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")


def add_limits(parser: CommandParser, concurrency: str = "calls in flight; default: 8") -> None:
    """What all processes of a model may do together, and how long a prompt may be."""
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
    """Return the price that --price gives, else the `former` one of the run, else the listed one; None: unknown.

    Raises ProviderError for batches of a provider without them.
    """
    if spec is None:
        return None
    given = Price(*options["price"]) if options["price"] else None
    return former if former and not given else price_for(spec, given, batch=batch)


def run_options(options: Mapping[str, Any], price: Price | None, former: RunOptions) -> RunOptions:
    """Return the terms that the options ask for, at this price; the rest stays as it was."""

    def given(kind: type, prefix: str) -> dict[str, Any]:
        asked = {field.name: options.get(prefix + field.name) for field in fields(kind)}
        return {name: value for name, value in asked.items() if value is not None}

    return replace(
        former,
        price=price,
        budget=replace(former.budget, **given(Budget, "max_")),
        limits=replace(former.limits, **given(Limits, "")),
        distributed=options.get("distribute") or former.distributed,
    )


def _temperature(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 2:
            return value
    raise ArgumentTypeError(f"{text!r} is not a number from 0 to 2")


def sampling(options: Mapping[str, Any]) -> Parameters:
    """The parameters that are sent."""
    return Parameters(temperature=options["temperature"], max_output_tokens=options["max_output_tokens"])


def ledger(options: Mapping[str, Any], spec: ModelSpec, spent: Spending) -> SpendTracker:
    """What may be spent where no run keeps it; `spent` was. Raises CommandError for a cost without a price."""
    asked = run_options(options, price_of(options, spec), RunOptions())
    if asked.budget.cost is not None and asked.price is None:
        raise CommandError(
            f"--max-cost needs --price INPUT OUTPUT: no price is listed for {spec}, so its cost is unknown."
        )
    return SpendTracker(asked.price, asked.budget, asked.limits, spent=spent)


def estimates_table(
    estimates: Mapping[str, Estimate], price: Price | None, assumed: str = ASSUMED
) -> list[str]:
    """The lines to print: a table, and what is assumed in it."""
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
    """The same for --json."""
    return {
        name: asdict(one) | {"cost_usd": None if price is None else one.cost(price)}
        for name, one in estimates.items()
    }


def run_interruptibly(work: Coroutine[Any, Any, T], stop: Stop) -> T | None:
    """The result of the work. The first Ctrl-C or SIGTERM asks it to stop, the second drops it: then None."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None

        def interrupt() -> None:
            if stop.reason:
                task.cancel()
                return
            stop.ask("interrupted")
            tqdm.write(
                "Waiting for the calls in flight, which are paid for. Once more drops them.", file=sys.stderr
            )

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, interrupt)
        return await work

    with suppress(asyncio.CancelledError):
        return asyncio.run(watched())
    return None


def send_under_bar(
    bar: "tqdm[Any]",
    calls: Sequence[ModelRequest],
    spec: ModelSpec,
    parameters: Parameters,
    ledger: SpendTracker,
) -> list[str] | None:
    """Make calls that belong to no run, under the bar. Why some are left, or None when all are made.

    Where there are none, the model's key is not needed. Raises ProviderError.
    """
    if not calls:
        return None
    stop = Stop()

    def advance() -> None:
        bar.set_postfix(dollars=ledger.shown, refresh=False)
        bar.update()

    work = send_all(calls, spec, parameters, ledger=ledger, stop=stop, advance=advance, tell=write_line)
    outcome = run_interruptibly(work, stop) or SendOutcome()
    if outcome.done == len(calls):
        return None
    return [*([f"Stopped: {stop.reason}"] if stop.reason else []), *faults_told(outcome.faults)]


async def try_to_open(spec: ModelSpec, *, batch: bool = False) -> None:
    """Raises ProviderError when the provider lacks its key or address, or its batches."""
    if not batch:
        return await open_provider(spec).aclose()
    provider = open_batching_provider(spec)
    try:
        await provider.check_batches()
    finally:
        await provider.aclose()
