"""ALGO end to end: a model writes a verifier, which ranks coders; nothing is paid for twice."""

import json
import re
import signal
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from judge import Checker, OutputValidator
from tests.benchmark.runs.bank import PROGRAM, canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_resume import HANGING, generations, only_run, until
from tests.fake_providers import Script, pieces_of


def saying(program: str) -> Script:
    return Script(pieces_of(f"Here it is.\n\n```python\n{program}\n```\n"))


ORACLE = """
def solution(stdin):
    numbers, word = stdin.split("\\n")[:2]
    return f"{sum(map(int, numbers.split()))}\\n{word}\\n"
"""
VALIDATOR = """
def is_valid_input(stdin):
    numbers, word = stdin.split("\\n")[:2]
    return len(numbers.split()) == 2 and -99 <= int(numbers.split()[0]) and word.isalpha()
"""
GENERATORS = """
def gen_input(largest: int = 1000) -> str:
    return f"{random.randint(-largest, largest)} {random.randint(1, largest)}\\nword\\n"

def batch_gen_inputs(batch_size: int) -> list:
    return [gen_input(3) for _ in range(batch_size)]
"""
TRICKY = "def special_tricky_test_inputs():\n    return ['0 0\\nzero\\n', 'not valid']"
RIGHT = saying(PROGRAM)
NOT_NEGATIVE = saying(PROGRAM.replace("a + b", "abs(a) + b"))
ONLY_THE_SAMPLE = saying("print(7)\nprint('hello')")
WRONG = saying("print(0)")
VERIFIER = (
    saying(ORACLE.replace("sum", "max")),
    saying(ORACLE),
    saying(VALIDATOR.replace("-99", "4")),
    saying(VALIDATOR),
    saying(GENERATORS),
    saying(TRICKY),
)
APPLE = ("--problems", "apple_sum")


def killed_after(commands: CommandSandbox, answers: Sequence[Script], *command: str) -> None:
    """Run the command with these replies, and kill it with SIGKILL while it waits for another one."""
    sent = len(commands.fake_providers.requests) + len(answers) + 1
    commands.fake_providers.script(*answers, HANGING)
    running = commands.start(*command)
    until(lambda: len(commands.fake_providers.requests) == sent)
    running.signal(signal.SIGKILL)
    assert running.wait()[0] == -signal.SIGKILL


@pytest.fixture
def verified(commands: CommandSandbox) -> CommandSandbox:
    """Return a site whose first problem has a verifier, after a small budget, SIGKILL and a provider fault."""
    commands.fake_providers.script(*VERIFIER[:2])
    new = ("--dataset", "orchard", "--model", "openai:gpt-4o", *APPLE)
    _, errors = commands.manage("build_verifier", *new, "--max-calls", "2", status=1)
    assert "the budget of 2 calls is used up" in errors
    resume = ("build_verifier", "--json", "--resume", only_run(commands), "--max-calls", "9")
    killed_after(commands, VERIFIER[2:4], *resume)
    before = generations(commands)
    assert len(before) == 4
    commands.fake_providers.script(Script(status=400, error="invalid_request_error"))
    output, errors = commands.manage(*resume, status=1)
    assert json.loads(output)["verifiers"] == []
    assert "provider fault" in errors
    commands.fake_providers.script(*VERIFIER[4:])
    output, _ = commands.manage(*resume)
    after = generations(commands)
    assert {key: after[key] for key in before} == before
    assert [step for _, step in after] == list(range(6))
    document = json.loads(output)
    [verifier] = document["verifiers"]
    assert (document["state"], verifier["problem"], verifier["state"]) == ("finished", "apple_sum", "ready")
    assert verifier["dropped"] == {}
    assert verifier["invalid"] >= 1
    assert verifier["tests"] >= 20
    return commands


def candidates(commands: CommandSandbox, run: str) -> dict[str, Any]:
    output, _ = commands.manage("verify_candidates", "--run", run, "--n", "1", "2", "4", "--json")
    document: dict[str, Any] = json.loads(output)
    return document


def check_candidates(found: dict[str, Any], by_name: dict[str, Any], tests: int) -> None:
    assert [by_name[f"step {n}"]["official"] for n in range(4)] == [False, True, True, False]
    assert [by_name[f"step {n}"]["samples_passed"] for n in range(4)] == [True, True, True, False]
    assert by_name["step 2"]["accepted"]
    assert by_name["step 2"]["total"] == tests + 1
    smallest = by_name["step 1"]["minimal"]
    assert smallest["input"].startswith("-1 ")
    assert smallest["fault"] == "WA"
    assert found["agreement"]["samples"] == {"agreeing": 3, "total": 4}
    assert found["n_at_k"]["1"] == {"verifier": 1.0, "majority": 0.5, "random": 0.5}
    assert found["n_at_k"]["4"] == {"verifier": 1.0, "majority": 1.0, "random": 1.0}
    [oracle] = found["oracles"]
    assert oracle["correctness"]["verdict"] == "right"
    assert oracle["correctness"]["samples"] == {"right": 1, "wrong": 0, "unanswered": 0}
    assert oracle["correctness"]["hidden"]["right"] >= 1
    assert oracle["correctness"]["reference"] == {"right": tests, "wrong": 0, "unanswered": 0}


def test_a_verifier_is_built_once_and_ranks_what_three_coders_write(verified: CommandSandbox) -> None:
    asked = [request.body["messages"][0]["content"] for request in verified.fake_providers.requests]
    assert len(asked) == 8, "the one in flight at kill -9, and the one that failed, are asked for again"
    assert asked[0] == asked[1]
    assert "solution(stdin: str) -> str" in asked[0]
    assert asked[4] == asked[5] == asked[6]
    assert not [word for word in canaries("apple_sum") for prompt in asked if word in prompt]
    [(released, tests)] = verified.rows(
        "select s.released_at, count(*) from benchmark_suite s join benchmark_suitetest t on t.suite_id = s.id"
    )
    assert released
    [(stress,)] = verified.rows("select json_array_length(record, '$.stress') from benchmark_verifier")
    assert stress >= 1

    verified.fake_providers.script(ONLY_THE_SAMPLE, NOT_NEGATIVE, RIGHT, WRONG)
    document = verified.baseline(*APPLE, "--set", "k=4", method="algo-implicit")
    assert (document["solved"], document["generations"]) == (1, 4)
    found = candidates(verified, document["run"])
    by_name = {one["candidate"][-6:]: one for one in found["candidates"]}
    smallest = by_name["step 1"]["minimal"]
    check_candidates(found, by_name, tests)

    # The program that only errs on negative numbers passes the imported tests and fails the oracle's.
    by_suite = ("--set", "tests=suite", "temperature=0.3", "repair_temperature=0.3")
    verified.fake_providers.script(NOT_NEGATIVE, RIGHT)
    document = verified.baseline(*APPLE, *by_suite, method="refine")
    assert (document["solved"], document["generations"]) == (1, 2)
    told = verified.fake_providers.requests[-1].body["messages"][-1]["content"]
    assert "Phase: hidden tests, after all samples had passed\nVerdict: Wrong answer" in told
    assert "-1" not in told, "no input of the suite is shown"
    output, _ = verified.manage("suite_quality", "orchard/apple_sum", "--json")
    [quality] = json.loads(output)["suites"]
    assert (quality["released"], quality["tpr"]["count"], len(quality["tests"])) == (True, 1, tests + 1)
    assert verified.rows("select right_total, released_at is not null from benchmark_suite") == [(1, 1)]

    verified.fake_providers.script(WRONG, NOT_NEGATIVE, ONLY_THE_SAMPLE)
    document = verified.baseline(*APPLE, "--set", "tags=2", "n=2", method="algo-tags")
    assert (document["generations"], document["solved"]) == (3, 1)
    asked = [request.body["messages"][0]["content"] for request in verified.fake_providers.requests[14:]]
    assert [prompt.splitlines()[-1] for prompt in asked] == [
        "Remember: use the method Array.",
        "Remember: use the method Array.",
        "Remember: use the method String.",
    ]
    # Another temperature, so that no earlier reply to the same question is taken.
    coder = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "algo-iterative", *APPLE)
    killed_after(verified, [NOT_NEGATIVE], "run_baseline", *coder, "--set", "temperature=0.5")
    verified.fake_providers.script(RIGHT)
    [(run,)] = verified.rows("select id from benchmark_run where state = 'open'")
    document = verified.baseline("--resume", str(UUID(run)))
    assert (document["generations"], document["solved"]) == (2, 1)
    [_, in_flight, again] = [
        request.body["messages"][0]["content"] for request in verified.fake_providers.requests[17:]
    ]
    assert in_flight == again, "the same inputs are shown"
    shown = re.findall(r"^Input:\n(.*?)\nRight output:", again, re.DOTALL | re.MULTILINE)
    failing = sorted((one["input"].strip() for one in by_name["step 1"]["failures"]), key=len)
    assert shown == [smallest["input"].strip(), failing[0]], "the smallest inputs that are known to fail"
    assert "Right output:\n-" in again
    assert "Your program: printed\n" in again
    assert not [word for word in canaries("apple_sum") if word in again]


def test_a_coder_without_a_verifier_is_told_how_to_get_one_and_a_dry_run_calls_nobody(
    commands: CommandSandbox,
) -> None:
    _, errors = commands.manage(
        "run_baseline", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "algo-iterative",
        *APPLE, status=1,
    )  # fmt: skip
    assert "has no verifier (manage.py build_verifier --dataset orchard)" in errors
    output, _ = commands.manage(
        "build_verifier", "--dataset", "orchard", "--model", "openai:gpt-4o", "--dry-run", "--json"
    )
    estimates = json.loads(output)["estimates"]
    assert (estimates["low"]["generations"], estimates["high"]["generations"]) == (16, 4 * (20 + 3 * 5))
    assert commands.fake_providers.requests == []


def test_a_model_without_a_right_oracle_leaves_the_samples_to_rank_by(commands: CommandSandbox) -> None:
    commands.fake_providers.script(WRONG, WRONG)
    output, _ = commands.manage(
        "build_verifier", "--dataset", "orchard", "--model", "openai:gpt-4o", "--set", "resamples=2", *APPLE
    )
    assert "no-oracle" in output
    assert "0 of 1 problems have a verifier" in output
    commands.fake_providers.script(WRONG, RIGHT)
    document = commands.baseline(*APPLE, "--set", "k=2", method="algo-implicit")
    assert document["solved"] == 1


def test_an_oracle_that_is_not_deterministic_is_rejected_by_name(commands: CommandSandbox) -> None:
    by_hash = ORACLE.replace("\\n{word}", "{'x' * sys.flags.hash_randomization}\\n{word}")
    by_lot = ORACLE.replace("{word}", "{word if word == 'hello' else random.random()}")
    commands.fake_providers.script(*map(saying, (by_hash, by_lot, VALIDATOR, GENERATORS, TRICKY)))
    output, _ = commands.manage(
        "build_verifier", "--dataset", "orchard", "--model", "openai:gpt-4o", *APPLE, "--json"
    )
    [built] = json.loads(output)["verifiers"]
    assert (built["state"], built["tests"], built["suite"]) == ("non-deterministic", 0, None)
    on_sample, on_made = built["rejected"]
    assert on_sample.startswith("oracle 1: non-deterministic on input ")
    assert on_made.startswith("oracle: non-deterministic on input ")
    run = only_run(commands)
    output, _ = commands.manage("build_verifier", "--resume", run)
    assert f"Rejected: apple_sum: {on_made}" in output
    assert "0 of 1 problems have a verifier" in output
    commands.fake_providers.script(WRONG, RIGHT)
    document = commands.baseline(*APPLE, "--set", "k=2", method="algo-implicit")
    assert document["solved"] == 1, "the samples are left to rank by"


def test_interactive_problems_are_refused_before_anything_is_paid_for(commands: CommandSandbox) -> None:
    def talk(problem: str, **how: Any) -> None:
        program = OutputValidator("python", {"talk.py": "print(1)"}, **how)
        checker = json.dumps(Checker("validator", program=program).to_json())
        commands.rows("update benchmark_problem set checker = ? where external_id = ?", (checker, problem))

    talk("apple_sum", interactive=True)
    new = ("build_verifier", "--dataset", "orchard", "--model", "openai:gpt-4o")
    for more in ((), ("--dry-run",)):
        _, errors = commands.manage(*new, *APPLE, *more, status=1)
        assert "is interactive: an oracle cannot answer single inputs" in errors
    talk("berry_product", passes=2)
    commands.fake_providers.script(*map(saying, ("no oracle",) * 2))
    output, _ = commands.manage(
        *new, "--problems", "apple_sum,berry_product,cherry_sum", "--set", "resamples=1", "--json"
    )
    document = json.loads(output)
    assert [one["problem"] for one in document["verifiers"]] == ["cherry_sum"]
    reasons = {one["id"]: one["reason"] for one in document["left_out"]}
    assert reasons["apple_sum"].startswith("it is interactive")
    assert reasons["berry_product"].startswith("it has several passes")
    assert len(commands.fake_providers.requests) == 1


def test_candidates_are_ranked_by_examples_by_written_tests_and_by_suite_size(
    commands: CommandSandbox,
) -> None:
    written = "def written_tests():\n    return [('1 2\\nab\\n', '3\\nab\\n'), ('-1 5\\nx\\n', '4\\nx\\n')]"
    commands.fake_providers.script(*map(saying, (ORACLE, VALIDATOR, GENERATORS, TRICKY, written)))
    new = ("--dataset", "orchard", "--model", "openai:gpt-4o", *APPLE)
    commands.manage("build_verifier", *new, "--set", "written_tests=true")
    [asked] = [request.body["messages"][0]["content"] for request in commands.fake_providers.requests[4:]]
    assert "Each element is a pair of texts" in asked
    assert not [word for word in canaries("apple_sum") if word in asked]
    commands.fake_providers.script(ONLY_THE_SAMPLE, NOT_NEGATIVE, RIGHT, WRONG)
    run = commands.baseline(*APPLE, "--set", "k=4", method="algo-implicit")["run"]
    table = commands.var / "sizes.csv"
    asked_for = ("verify_candidates", "--run", run, "--n", "1", "2", "--sizes", "0", "3", "--csv", str(table))
    output, _ = commands.manage(*asked_for, "--json")
    found = json.loads(output)
    outcomes = {one["candidate"][-6:]: one["outcomes"] for one in found["candidates"]}
    assert [outcomes[f"step {number}"]["written"] for number in range(4)] == ["00", "10", "11", "00"]
    assert outcomes["step 2"]["samples"] == "1"
    assert set(outcomes["step 2"]["tests"]) == {"1"}
    assert found["n_at_k"]["1"] == {"verifier": 1.0, "majority": 0.5, "random": 0.5}
    assert found["rankings"]["1"] == found["n_at_k"]["1"] | {"samples": pytest.approx(2 / 3), "written": 1.0}
    smallest, three, all_of_them = found["suite_sizes"]
    assert (smallest["tests"], smallest["n_at_k"]["1"]) == (0, pytest.approx(2 / 3))
    assert (three["tests"], all_of_them["largest"]) == (3, True)
    assert all_of_them["n_at_k"] == {"1": 1.0, "2": 1.0}
    assert table.read_text().startswith("tests,n,n_at_k\n0,1,0.66")
    output, _ = commands.manage(*asked_for)
    assert "examples only 66.67 %, tests written by the model 100.00 %" in output.replace(
        "%,", " %,"
    ).replace("  ", " ")
    assert "oracle tests" in output
    # A row of an older version holds no outcomes: the program is tried again, and nothing else of the row changes.
    before = commands.rows("select passed, failures, minimal from benchmark_verification order by id")
    commands.rows("update benchmark_verification set outcomes = null")
    output, _ = commands.manage(*asked_for, "--json")
    assert json.loads(output)["suite_sizes"] == found["suite_sizes"]
    assert commands.rows("select passed, failures, minimal from benchmark_verification order by id") == before
