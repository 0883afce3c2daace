"""Prices of models: the given one, else that of the snapshot, else unknown."""

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.pricing import SCRIPTED, price_for
from benchmark.providers import parse_model_spec
from tests.benchmark.runs.processes import CommandProcess, run_apart

GPT_4O = parse_model_spec("openai:gpt-4o")


OWN_ADDRESSES = {"OPENAI_BASE_URL": "", "ANTHROPIC_BASE_URL": "", "OPENAI_API_KEY": "sk-any"}


@pytest.fixture
def own_addresses(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = settings.ANTHROPIC_BASE_URL = ""


def test_a_dry_run_knows_the_price_of_a_listed_model_and_where_it_is_from(filled_var: Path) -> None:
    def baseline(model: str, *arguments: str) -> tuple[int, str, str]:
        command = (
            "run_baseline",
            "--dataset",
            "orchard",
            "--model",
            model,
            "--method",
            "zero-shot",
            *arguments,
        )
        return CommandProcess(command, filled_var, OWN_ADDRESSES).wait()

    def dry_run(model: str, *arguments: str) -> dict[str, Any]:
        _, output, errors = baseline(model, "--dry-run", "--json", *arguments)
        document: dict[str, Any] = json.loads(output or errors)
        return document

    document = dry_run("openai:gpt-4o")
    price, high = document["price"], document["estimates"]["high"]
    assert (price["input"], price["output"], price["cached_input"]) == (2.5, 10, 1.25)
    assert price["source"].startswith("genai-prices 0.2.")
    assert date(2024, 5, 13) <= date.fromisoformat(price["snapshot_date"]) <= datetime.now(UTC).date()
    assert high["cost_usd"] == pytest.approx((high["input_tokens"] * 2.5 + high["output_tokens"] * 10) / 1e6)
    batch = dry_run("openai:gpt-4o", "--batch")["estimates"]["high"]
    assert batch["cost_usd"] == pytest.approx(high["cost_usd"] / 2)
    given = {"input": 1, "output": 2, "cached_input": None, "source": "given", "snapshot_date": ""}
    assert dry_run("openai:gpt-4o", "--price", "1", "2")["price"] == given
    for model in ("openai:m", "compatible:gpt-4o"):
        unknown = dry_run(model)
        assert unknown["price"] is None
        assert {one["cost_usd"] for one in unknown["estimates"].values()} == {None}, model
    assert "genai-prices 0.2." in baseline("openai:gpt-4o", "--dry-run")[1]
    status, _, errors = baseline("openai:m", "--max-cost", "1")
    assert status == 1
    assert "none is listed for this model" in errors


def test_a_price_is_that_of_the_companys_own_server_only(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = "https://api.openai.com/v1"
    assert price_for(GPT_4O) is not None
    settings.OPENAI_BASE_URL = "https://mirror.example/v1"
    assert price_for(GPT_4O) is None
    assert price_for(GPT_4O, Price(4, 8), batch=True) == Price(2, 4)


@pytest.mark.usefixtures("own_addresses")
def test_a_price_with_tiers_is_that_of_short_prompts_and_one_without_cached_tokens_counts_them_in_full() -> (
    None
):
    tiered = price_for(parse_model_spec("anthropic:claude-sonnet-4-5"))
    assert tiered
    assert (tiered.input, tiered.cached_input, tiered.output) == (3, 0.3, 15)
    tuned = price_for(parse_model_spec("openai:ft:gpt-4o-2024-08-06:org::x"))
    assert tuned
    assert tuned.cached_input is None
    assert tuned.of(1_000_000, 0, 400_000) == tuned.input


def test_cached_tokens_cost_their_own_price_and_never_more_tokens_than_there_are() -> None:
    price = Price(2, 10, 0.5)
    assert price.of(1_000_000, 100_000, 400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1)
    assert price.of(1_000_000, 0, 9_000_000) == pytest.approx(0.5)
    assert price.times(0.5).of(1_000_000, 100_000, 400_000) == pytest.approx((1.2 + 0.2 + 1) / 2)


def test_a_cost_without_any_known_tokens_is_unknown_and_not_0() -> None:
    unknown = Spending.of_reply(None, None, None)
    assert unknown.to_json(Price(1, 1))["cost_usd"] is None
    both = (unknown + Spending.of_reply(10, 10, None)).to_json(Price(1, 1))
    assert (both["cost_usd"], both["cost_is_lower_bound"]) == (pytest.approx(20 / 1e6), True)
    assert Spending().to_json(None)["cost_is_lower_bound"] is False


def load_the_program() -> None:
    """Import the web server and a command, and price a model without the snapshot."""
    import config.asgi
    import config.urls
    from benchmark.management.commands import run_baseline

    assert config.asgi
    assert config.urls
    assert run_baseline
    assert price_for(parse_model_spec("practice:student")) == SCRIPTED
    assert price_for(GPT_4O, Price(1, 1)) == Price(1, 1)
    assert "genai_prices" not in sys.modules


@pytest.mark.slow
def test_the_list_of_prices_is_not_loaded_by_the_web_server_nor_where_no_price_is_looked_up() -> None:
    run_apart(load_the_program)
