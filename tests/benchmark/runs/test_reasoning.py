"""Runs with reasoning: the setting, the stored reply with its blocks, and the next request that sends them back."""

import json

from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_reflexion import SOLUTION, TALK
from tests.fake_providers import Script

PROBLEM = ("--problems", "apple_sum")
ANTHROPIC = ("--model", "anthropic:claude")
ROWS = (
    "select reasoning, reasoning_tokens, blocks, parameters, reused_id from benchmark_generation order by id"
)


def test_blocks_are_stored_sent_back_and_copied_by_the_cache(commands: CommandSandbox) -> None:
    thoughtful = Script(TALK.pieces, reasoning=("I only ", "talk."))
    commands.fake_providers.script(thoughtful, SOLUTION)
    given = (*PROBLEM, *ANTHROPIC, "--set", "reasoning=2000", "temperature=none")
    document = commands.baseline(*given, method="refine")
    assert document["solved"] == 1
    first, second = commands.rows(ROWS)
    assert first[:2] == ("I only talk.", 2)
    blocks = json.loads(first[2])
    assert [(block["type"], block["thinking"]) for block in blocks] == [("thinking", "I only talk.")]
    assert json.loads(first[3]) == {"max_output_tokens": 4096, "reasoning": 2000}
    assert second[2] is None
    sent = [request.body for request in commands.fake_providers.requests]
    assert sent[0]["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert sent[1]["messages"][1]["content"][:-1] == blocks
    [(messages,)] = commands.rows("select messages from benchmark_generation where step = 1")
    assert json.loads(messages)[1]["blocks"] == blocks

    commands.baseline(*given, method="refine")
    assert len(commands.fake_providers.requests) == 2, "the second run makes no paid call"
    copies = commands.rows(ROWS)[2:]
    assert [copy[:3] for copy in copies] == [first[:3], second[:3]]
    assert all(copy[4] is not None for copy in copies)


def test_what_an_api_refuses_stops_the_command_before_anything_is_stored(commands: CommandSandbox) -> None:
    given = ("run_baseline", "--dataset", "orchard", "--method", "zero-shot", *PROBLEM)
    for model, settings, words in (
        ("anthropic:claude", ("reasoning=high",), "temperature=0.7: the API accepts no temperature but 1"),
        (
            "anthropic:claude",
            ("reasoning=8000", "temperature=1"),
            "max_output_tokens=4096 must be above reasoning=8000",
        ),
        ("openai:gpt-5", ("reasoning=8000",), "the API accepts no number of tokens"),
        ("openai:gpt-5", ("reasoning=hihg",), "did you mean high?"),
        ("compatible@lab:m", (), "There is no endpoint 'lab'. Set MODEL_ENDPOINT_LAB_URL"),
    ):
        chosen = ("--set", *settings) if settings else ()
        _, errors = commands.manage(*given, "--model", model, *chosen, status=1)
        assert words in errors
    assert commands.rows("select count(*) from benchmark_run") == [(0,)]
    assert commands.fake_providers.requests == []


def test_stored_settings_have_reasoning_only_where_it_is_set(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION)
    commands.baseline(*PROBLEM)
    [(parameters,)] = commands.rows("select parameters from benchmark_run")
    assert "reasoning" not in json.loads(parameters)
    assert "reasoning_effort" not in commands.fake_providers.requests[0].body
