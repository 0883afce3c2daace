"""Options and cost estimates of the commands that call a model."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.arguments import dollars, positive
from benchmark.management.interrupts import run_interruptibly
from benchmark.management.progress import write_line
from benchmark.model_calls import Price, RateLimits, RunBudget, Spending, Stop, catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.pricing import price_for
from benchmark.model_calls.requests import ModelRequest, RequestMonitor, SpendTracker, send_all
from benchmark.models import LanguageModel
from benchmark.providers import (
    ModelSpec,
    ModelSpecError,
    Parameters,
    open_batching_provider,
    open_provider,
)
from benchmark.reports.formatting import format_faults
from benchmark.representations import Author
from benchmark.runner import Estimate, RunOptions
from judge.management.tables import aligned

REQUEST_ASSUMPTIONS = (
    "Assumed: replies of 500 tokens (low), 1,500 (expected) and 8,000 (high), or --max-output-tokens where that is "
    "less. A token is counted as 4.5, 4 and 3 characters of a prompt."
)


_SAMPLING_OPTIONS = ("temperature", "max_output_tokens")

MODEL_METAVAR = "PROVIDER:MODEL|LABEL"
"""The value of --model: a model of a provider, or the label of a row, with @VERSION for one of its versions."""

PRICE_HELP = (
    "US dollars for a million tokens; default: the price of the model's row (manage.py models), else the one that the "
    "package genai-prices ships, else the cost is unknown"
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
    parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")


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
    """Add the limits that all processes share when they call the model, and the limit of a prompt's length."""
    for name, help in (
        ("concurrency", concurrency),
        ("requests-per-minute", "calls per minute"),
        ("tokens-per-minute", "tokens per minute"),
    ):
        parser.add_argument(
            f"--{name}",
            type=positive,
            metavar="N",
            help=f"{help}; shared by all processes that call the model",
        )
    parser.add_argument(
        "--context-tokens",
        type=positive,
        metavar="N",
        help="the model's context: a prompt that leaves no room for the reply is not sent",
    )


@dataclass(frozen=True)
class ChosenModel:
    """The model of a command with its sampling parameters, and its row if a label named it."""

    spec: ModelSpec
    parameters: Parameters
    row: LanguageModel | None

    @property
    def author(self) -> Author:
        """The model as the author of representations and programs."""
        return Author(str(self.spec), self.parameters)


def chosen_model(options: Mapping[str, Any]) -> ChosenModel:
    """Return the model of --model, PROVIDER:MODEL or a label. The sampling options override a row's parameters.

    Raises CommandError.
    """
    try:
        spec, row = catalogue.choose(options["model"])
    except (CatalogueError, ModelSpecError) as error:
        raise CommandError(str(error)) from None
    usual = Parameters.from_json(row.parameters) if row else Parameters()
    return ChosenModel(spec, sampling(options, usual), row)


def sampling(options: Mapping[str, Any], usual: Parameters = Parameters()) -> Parameters:  # noqa: B008  (frozen)
    """Return the parameters `usual` with those that the options set."""
    given = {name: options[name] for name in _SAMPLING_OPTIONS if options[name] is not None}
    return replace(usual, **given)


def price_of(
    options: Mapping[str, Any],
    spec: ModelSpec | None,
    *,
    row: LanguageModel | None = None,
    former: Price | None = None,
    batch: bool = False,
) -> Price | None:
    """Return the price from --price, else the run's `former` price, else that of the row or the list; None: unknown.

    Raises ProviderError for a batch if the provider has no batches.
    """
    if spec is None:
        return None
    given = Price(*options["price"]) if options["price"] else None
    if former and not given:
        return former
    return price_for(spec, given or (catalogue.typed_price(row) if row else None), batch=batch)


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


def with_context(options: RunOptions, row: LanguageModel | None) -> RunOptions:
    """Return the options with the context length of the model's row, if it has one."""
    if row is None or row.context_tokens is None:
        return options
    return replace(options, limits=replace(options.limits, context_tokens=row.context_tokens))


def spend_tracker(options: Mapping[str, Any], model: ChosenModel, spent: Spending) -> SpendTracker:
    """Return a tracker without a run, which starts at `spent`. Raises CommandError for --max-cost without a price."""
    price = price_of(options, model.spec, row=model.row)
    chosen = run_options(options, price, with_context(RunOptions(), model.row))
    if chosen.budget.cost is not None and chosen.price is None:
        raise CommandError(
            f"--max-cost needs --price INPUT OUTPUT: no price is listed for {model.spec}, so its cost is unknown."
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
    documents = {}
    for name, one in estimates.items():
        document = asdict(one) | {"cost_usd": None if price is None else one.cost(price)}
        del document["tutor"]  # is shown beside the student's estimates, with its own price
        documents[name] = document
    return documents


def tutor_estimates(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the estimates of the calls to the tutor's model; empty if the run has no tutor."""
    return {name: one.tutor for name, one in estimates.items() if one.tutor is not None}


def send_under_bar(
    bar: "tqdm[Any]",
    requests: Sequence[ModelRequest],
    spec: ModelSpec,
    parameters: Parameters,
    tracker: SpendTracker,
) -> list[str] | None:
    """Send requests that belong to no run, with the bar. Return why some have no reply, or None if all have one.

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
    """Return a monitor that shows steps in the bar, with the cost if a tracker is given."""

    def advance() -> None:
        if tracker:
            bar.set_postfix(dollars=tracker.summary, refresh=False)
        bar.update()

    return RequestMonitor(stop, bar.reset, advance, write_line)


async def try_to_open(spec: ModelSpec, *, batch: bool = False) -> None:
    """Raise ProviderError if `open_provider` does, or if the provider has no batches. No model is called."""
    if not batch:
        await open_provider(spec).aclose()
        return
    provider = open_batching_provider(spec)
    try:
        await provider.check_batches()
    finally:
        await provider.aclose()
