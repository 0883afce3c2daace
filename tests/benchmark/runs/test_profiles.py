"""Runs with the profiles of the papers: prompts, feedback, and judging."""

import json

import pytest

from tests.benchmark.runs.bank import PROGRAM, REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

FIRST = ("--problems", "apple_sum")
SOLUTION = Script(pieces_of(REPLY))
TALK = Script(("I show no program.",))


def saying(program: str) -> Script:
    return Script(pieces_of(f"```python\n{program}\n```\n"))


WRONG = saying(PROGRAM.replace("a + b", "a * b"))
LONG = saying("print('y' * 5000)")
CRASHING = saying(PROGRAM.replace("a + b", "a // (b - 4)"))


def prompts(commands: CommandSandbox) -> list[str]:
    return [request.body["messages"][0]["content"] for request in commands.fake_providers.requests]


def test_the_published_code_tells_each_kind_of_failure_in_its_way(commands: CommandSandbox) -> None:
    commands.fake_providers.script(LONG, CRASHING, TALK, SOLUTION)
    commands.baseline(*FIRST, "--profile", "usaco-code", "--set", "i=3", method="reflexion")
    _, after_wrong, after_crash, after_talk = prompts(commands)
    assert (
        f"Sample 1: wrong answer.\nInput:\n3 4\nhello\nOutput of your program:\n{'y' * 5000}\n" in after_wrong
    )
    assert "[cut after" not in after_wrong
    told = (
        "Result of attempt 2:\n\nSample 1: run-time error: integer division or modulo by zero\n[END ATTEMPTS]"
    )
    assert told in after_crash
    told = "Result of attempt 3:\n\nNothing was judged, because of an error in the format of the answer.\n"
    assert told in after_talk


def test_programs_are_judged_with_decimal_megabytes_and_other_profiles_with_those_of_the_problem(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 6)
    commands.baseline(*FIRST, "--profile", "usaco-code", method="zero-shot")
    commands.baseline(*FIRST, "--profile", "usaco-code", "--set", "i=0", method="reflexion")
    commands.baseline(*FIRST, method="zero-shot")
    limits = [
        (suite, override, json.loads(result)["limits"]["memory"])
        for suite, override, result in commands.rows(
            "select suite, memory_limit, result from benchmark_judgement order by id"
        )
    ]
    code = ("all", 256 * 10**6, 256 * 10**6)
    assert limits == [code, ("samples", *code[1:]), code, ("all", None, 256 * 2**20)]


def test_a_stated_limit_has_the_unit_that_programs_are_judged_by(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION)
    commands.baseline(*FIRST, "--set", "memory_unit=MB")
    commands.baseline(*FIRST)
    decimal, binary = prompts(commands)
    assert "Memory limit: 256 MB\n" in decimal
    assert "Memory limit: 256 MiB\n" in binary


def test_all_attempts_search_with_one_draft(commands: CommandSandbox) -> None:
    arguments = (*FIRST, "--profile", "usaco-code", "--attempts", "3")
    expected = commands.baseline(*arguments, "--dry-run", method="episodic")["estimates"]["expected"]
    assert expected["generations"] == 4
    commands.fake_providers.script(*[SOLUTION] * 4)
    document = commands.baseline(*arguments, method="episodic")
    assert (document["generations"], document["paid"]["calls"]) == (6, 4)
    drafts = commands.rows(
        "select distinct coalesce(reused_id, id) from benchmark_generation where purpose = 'draft'"
    )
    assert len(drafts) == 1
    assert len(prompts(commands)) == 4


@pytest.mark.parametrize(
    ("method", "shown"),
    [("reflexion", ["Attempt 1:", "Attempt 2:"]), ("episodic+reflexion", ["Attempt 2:"])],
)
def test_the_paper_shows_all_attempts_and_after_retrieval_one(
    commands: CommandSandbox, method: str, shown: list[str]
) -> None:
    commands.fake_providers.script(WRONG, *[WRONG] * 3)
    commands.baseline(*FIRST, "--profile", "usaco-paper", "--set", "i=2", method=method)
    last = prompts(commands)[-1]
    assert [number for number in ("Attempt 1:", "Attempt 2:") if number in last] == shown


def test_what_the_paper_leaves_open_is_stored_with_the_version_of_the_profile(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(SOLUTION)
    run = commands.baseline(*FIRST, "--profile", "usaco-paper", "--attempts", "1")["run"]
    figures = commands.report(run)
    profile = figures["manifest"]["profile"]
    assert (profile["name"], profile["version"]) == ("usaco-paper", 2)
    assert "max_output_tokens=4096 is this program's choice" in profile["assumed"]
    assert figures["parameters"]["max_output_tokens"] == 4096
    again = commands.manage("run_baseline", "--like", run, "--json")[0]
    assert commands.report(json.loads(again)["run"])["manifest"]["profile"] == profile


def test_a_run_resumes_after_new_templates_but_not_after_changed_ones(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(WRONG, Script(("I multiplied.",)), SOLUTION)
    arguments = (*FIRST, "--set", "reflection=own-reply")
    document = commands.baseline(*arguments, "--max-calls", "1", status=1, method="reflexion")
    [(text,)] = commands.rows("select manifest from benchmark_run")
    manifest = json.loads(text)
    assert "revision_reflected" in manifest["templates"]
    assert "revision" not in manifest["templates"]

    def store(templates: dict[str, str]) -> None:
        changed = json.dumps(manifest | {"templates": templates})
        commands.rows("update benchmark_run set manifest = ?", (changed,))

    # As in an earlier version, whose revision template repeated the question of the reflection.
    store(manifest["templates"] | {"revision": "0" * 64})
    resume = ("run_baseline", "--resume", document["run"], "--max-calls", "9")
    _, errors = commands.manage(*resume, status=1)
    assert "Prompt templates changed since" in errors
    assert ": revision." in errors
    store({name: digest for name, digest in manifest["templates"].items() if name != "feedback/unjudged"})
    commands.manage(*resume)
    assert "Explain what went wrong" not in prompts(commands)[-1]
    assert "What you found about attempt 1:\n\nI multiplied.\n" in prompts(commands)[-1]
