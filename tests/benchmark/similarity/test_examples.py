"""Similar problems as examples of `run_baseline`, retrieved by their representations."""

import json

from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

MATCHED = ("run_baseline", "--dataset", "tagged", "--model", "openai:gpt-4o", "--method", "matched")
ONE = ("--problems", "oven-evening", "--profile", "algosim", "--json")
BARGE = "The last barge leaves the harbour"


def test_an_example_is_found_by_statements_or_by_attempts_of_the_same_model(commands: CommandSandbox) -> None:
    commands.manage(*MATCHED, *ONE)
    [first] = commands.fake_providers.requests
    prompt = first.body["messages"][0]["content"]
    assert prompt.count("problem and solution:") == 1
    assert BARGE not in prompt

    asm = (*MATCHED, *ONE, "--set", "representation=asm_nl")
    _, errors = commands.manage(*asm, status=1)
    assert (
        "48 of 48 problems have no asm_nl by openai:gpt-4o. Generate them first: manage.py represent"
        in errors
    )
    ids = [
        name for (name,) in commands.rows("select external_id from benchmark_problem order by external_id")
    ]
    techniques = {"oven-evening": "A knapsack with weights.", "last-barge": "Knapsack again, with weights."}
    commands.fake_providers.reset()
    commands.fake_providers.script(
        *(
            Script(pieces_of(f"Natural Language Solution:\n{techniques.get(name, 'Something else.')}"))
            for name in ids
        )
    )
    represent = ("represent", "--dataset", "tagged", "--model", "openai:gpt-4o", "--representation", "asm_nl")
    commands.manage(*represent, "--concurrency", "1")
    commands.fake_providers.requests.clear()

    output, _ = commands.manage(*asm)
    [only] = commands.fake_providers.requests
    prompt = only.body["messages"][0]["content"]
    assert BARGE in prompt
    assert "reachable[capacity]" in prompt
    assert "Knapsack again" not in prompt
    [(record,)] = commands.rows(
        "select retrieval from benchmark_generation where retrieval like '%asm_nl%' and purpose = 'solve'"
    )
    found = json.loads(record)["matched"]
    assert [hit["id"] for hit in found["hits"]] == ["last-barge"]
    assert (found["k1"], found["without"]) == (1.2, "oven-evening")

    document = json.loads(output)
    commands.rows("update benchmark_representation set text = 'other' where text like 'Knapsack%'")
    _, errors = commands.manage("run_baseline", "--resume", document["run"], status=1)
    assert "The representations by openai:gpt-4o changed since run" in errors
