"""Refine end to end: the command, the real SDKs, the real judge, and the feedback on each kind of failure."""

import json
import signal

from judge import Checker, OutputValidator
from tests.benchmark.runs.bank import canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_reflexion import ONLY_THE_SAMPLE, SOLUTION, TALK, WRONG, saying
from tests.benchmark.runs.test_resume import until
from tests.fake_providers import Script, failure

FIRST = ("--problems", "apple_sum")
BROKEN = saying("print(")
STEPS = (
    "select g.step, g.purpose, s.verdict, h.verdict, g.id = i.selected_id, g.parameters from benchmark_generation g "
    "join benchmark_workitem i on i.id = g.work_item_id "
    "left join benchmark_judgement s on s.id = g.sample_judgement_id "
    "left join benchmark_judgement h on h.id = g.hidden_judgement_id order by g.step"
)


def conversations(commands: CommandSandbox) -> list[list[dict[str, str]]]:
    return [request.body["messages"] for request in commands.fake_providers.requests]


def test_each_kind_of_failure_tells_its_own_and_hidden_tests_never_enter_a_prompt(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(TALK, BROKEN, WRONG, failure(400), ONLY_THE_SAMPLE, SOLUTION)
    settings = ("--set", "history=full", "--set", "temperature=0.2", "--set", "repair_temperature=0.3")
    document = commands.baseline(*FIRST, *settings, status=1, method="refine")
    assert (document["generations"], document["failed"]) == (3, 1), "a fault of the provider is no attempt"
    document = commands.baseline("--resume", document["run"])
    assert (document["generations"], document["solved"]) == (5, 1)

    rows = commands.rows(STEPS)
    assert [row[:5] for row in rows] == [
        (0, "solve", None, None, 0),
        (1, "repair", "CE", None, 0),
        (2, "repair", "WA", None, 0),
        (3, "repair", "AC", "WA", 0),
        (4, "repair", "AC", "AC", 1),
    ]
    assert [json.loads(row[5])["temperature"] for row in rows] == [0.2, 0.3, 0.3, 0.3, 0.3]
    assert commands.rows("select count(*) from benchmark_judgement where suite = 'all'") == [(2,)]

    last = conversations(commands)[-1]
    assert [message["role"] for message in last] == ["user", *("assistant", "user") * 4]
    told = [message["content"] for message in last[2::2]]
    assert "no program found" in told[0]
    assert "compilation" in told[1]
    assert "SyntaxError" in told[1]
    assert "Input:\n3 4\nhello\nOutput of your program:\n12\nhello\nExpected output:\n7\nhello" in told[2]
    assert "hidden tests" in told[3]
    assert "3 4" not in told[3]
    sent = json.dumps([request.body for request in commands.fake_providers.requests])
    assert [canary for canary in canaries("apple_sum") if canary in sent] == []


def test_by_default_only_the_last_attempt_is_shown_and_a_restart_shows_none(commands: CommandSandbox) -> None:
    commands.fake_providers.script(WRONG, TALK, WRONG, WRONG, WRONG, WRONG)
    document = commands.baseline(*FIRST, "--set", "k=3", "--set", "g=2", method="refine")
    assert (document["generations"], document["solved"]) == (6, 0)
    asked = conversations(commands)
    assert [len(messages) for messages in asked] == [1, 3, 3, 1, 3, 3]
    assert asked[0] == asked[3]
    assert "I show no program" in asked[2][1]["content"]


def test_a_special_judge_decides_on_samples_and_a_kill_or_a_budget_takes_no_attempt(
    commands: CommandSandbox,
) -> None:
    """The special judge takes the sum with any sign; it is called with input, expected and produced output."""
    either_sign = (
        "import sys\nexpected, made = (open(name).read() for name in sys.argv[2:4])\n"
        "print('' if made.lstrip('-') == expected else 'Wrong Answer', end='')\n"
    )
    checker = Checker("special", program=OutputValidator("python", {"spj.py": either_sign}))
    commands.rows("update benchmark_problem set checker = ?", [json.dumps(checker.to_json())])
    told, _ = commands.manage(
        "run_baseline",
        "--dataset",
        "orchard",
        "--model",
        "openai:gpt-4o",
        "--method",
        "refine",
        *FIRST,
        "--dry-run",
        "--json",
    )
    assert json.loads(told)["estimates"]["high"]["generations"] == 5, told
    assert commands.fake_providers.requests == []

    commands.fake_providers.script(saying("print(-7)\nprint('hello')"))
    document = commands.baseline(*FIRST, "--max-calls", "1", status=1, method="refine")
    assert (document["state"], document["generations"]) == ("stopped", 1)
    commands.fake_providers.script(Script(("Wait",), ending="hang"))
    killed = commands.start("run_baseline", "--resume", document["run"], "--max-calls", "9")
    until(lambda: len(commands.fake_providers.requests) == 2)
    killed.signal(signal.SIGKILL)
    killed.wait()
    commands.fake_providers.script(SOLUTION)
    document = commands.baseline("--resume", document["run"])
    assert (document["generations"], document["solved"], document["paid"]["calls"]) == (2, 1, 2)
    assert [row[:4] for row in commands.rows(STEPS)] == [(0, "solve", "AC", "WA"), (1, "repair", "AC", "AC")]
    asked = conversations(commands)
    assert asked[1] == asked[2], "the chain goes on with the question that was cut off"
    assert "hidden tests" in asked[2][-1]["content"]
    text, _ = commands.manage("refinement", document["run"])
    assert "1 of 1 chains solved, 1 problems, 2.00 attempts per solved" in text
