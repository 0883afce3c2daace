"""Reflexion end to end: the command, the real SDKs, the real judge, and the stored rows."""

import json

import pytest

from tests.benchmark.runs.bank import PROGRAM, REPLY, canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, failure, pieces_of


def saying(program: str) -> Script:
    return Script(pieces_of(f"Here it is.\n\n```python\n{program}\n```\n"))


SOLUTION = Script(pieces_of(REPLY))
WRONG = saying(PROGRAM.replace("a + b", "a * b"))
CRASHING = saying(PROGRAM.replace("a + b", "a // (b - 4)"))
ONLY_THE_SAMPLE = saying("print(7)\nprint('hello')")
TALK = Script(("I would add the numbers, but I show no program.",))
FIRST = ("--problems", "apple_sum")

STEPS = (
    "select g.step, g.purpose, j.suite, j.verdict, g.id = i.selected_id from benchmark_generation g "
    "join benchmark_workitem i on i.id = g.work_item_id "
    "left join benchmark_judgement j on j.id = g.sample_judgement_id order by g.step"
)


def prompts(commands: CommandSandbox) -> list[str]:
    return [request.body["messages"][0]["content"] for request in commands.fake_providers.requests]


@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude"])
def test_it_corrects_itself_with_the_samples_until_they_pass(commands: CommandSandbox, model: str) -> None:
    commands.fake_providers.script(WRONG, CRASHING, SOLUTION)
    output, _ = commands.manage(
        "run_baseline", "--json", "--dataset", "orchard", "--model", model, "--method", "reflexion", *FIRST
    )
    document = json.loads(output)
    assert (document["state"], document["generations"], document["solved"]) == ("finished", 3, 1)
    assert commands.rows(STEPS) == [
        (0, "solve", "samples", "WA", 0),
        (1, "reflect", "samples", "RTE", 0),
        (2, "reflect", "samples", "AC", 1),
    ]
    assert commands.rows("select suite, verdict from benchmark_judgement where suite = 'all'") == [
        ("all", "AC")
    ]
    first, second, third = prompts(commands)
    assert "[BEGIN ATTEMPTS]" not in first
    wrong = (
        "Sample 1: wrong answer.\nInput:\n3 4\nhello\nOutput of your program:\n12\nhello\n"
        "Expected output:\n7\nhello\n"
    )
    assert wrong in second
    assert wrong in third
    assert "Attempt 2:" in third
    assert "Sample 1: run-time error.\nInput:\n3 4\nhello\nWhat was reported:\n" in third
    assert "ZeroDivisionError" in third


def test_an_answer_that_passes_the_samples_is_judged_on_the_hidden_tests_and_they_never_come_back(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(WRONG, ONLY_THE_SAMPLE, WRONG, SOLUTION)
    document = commands.baseline(*FIRST, "--set", "run_all=true", "every_test=true", method="reflexion")
    assert (document["generations"], document["solved"]) == (4, 0)
    assert commands.rows("select stop_at_first_failure from benchmark_judgement where suite = 'all'") == [
        (0,)
    ]
    assert [row[3:] for row in commands.rows(STEPS)] == [("WA", 0), ("AC", 1), ("WA", 0), ("AC", 0)]
    assert "Sample 1: passed." in prompts(commands)[2]
    sent = json.dumps([request.body for request in commands.fake_providers.requests])
    assert [canary for canary in canaries("apple_sum") if canary in sent] == []


def test_feedback_reveals_only_the_number_of_passed_hidden_tests(commands: CommandSandbox) -> None:
    commands.fake_providers.script(TALK, ONLY_THE_SAMPLE, SOLUTION)
    document = commands.baseline(*FIRST, "--set", "feedback=samples+hidden_count", method="reflexion")
    assert (document["generations"], document["solved"]) == (3, 1)
    _, second, third = prompts(commands)
    [(hidden,)] = commands.rows(
        "select count(*) from benchmark_testcase t join benchmark_problem p on p.id = t.problem_id "
        "where p.external_id = 'apple_sum' and origin = 'hidden'"
    )
    assert "Hidden tests" not in second
    assert f"Sample 1: passed.\nHidden tests passed: 0 of {hidden}.\n" in third
    sent = json.dumps([request.body for request in commands.fake_providers.requests])
    assert [canary for canary in canaries("apple_sum") if canary in sent] == []
    # The answer that counts is not judged a second time.
    assert commands.rows("select verdict from benchmark_judgement where suite = 'all'") == [("WA",), ("AC",)]


def test_the_self_judge_of_the_icpc_paper_reflects_in_a_reply_of_its_own(commands: CommandSandbox) -> None:
    thought = Script(("I multiplied where I had to add.",))
    commands.fake_providers.script(WRONG, thought, SOLUTION)
    settings = ("--set", "reflection=own-reply", "feedback=verdicts")
    document = commands.baseline(*FIRST, *settings, method="reflexion")
    assert (document["generations"], document["solved"]) == (3, 1)
    assert [row[1] for row in commands.rows(STEPS)] == ["solve", "critique", "reflect"]
    _, asked, revised = prompts(commands)
    assert "Do not write a program yet" in asked
    assert "Sample 1: wrong answer.\n" in asked
    assert "Output of your program" not in asked
    assert "What you found about attempt 1:\n\nI multiplied where I had to add.\n" in revised


def test_an_answer_without_a_program_uses_a_step_and_the_feedback_names_it(commands: CommandSandbox) -> None:
    commands.fake_providers.script(TALK, TALK)
    document = commands.baseline(*FIRST, "--set", "i=1", method="reflexion")
    assert (document["generations"], document["solved"]) == (2, 0)
    assert "The answer holds no program in a block of the required form" in prompts(commands)[1]
    assert commands.report(document["run"])["verdicts"] == {"NO_CODE": 1}


def test_a_judge_fault_on_the_samples_is_no_wrong_answer_and_costs_no_second_call(
    commands: CommandSandbox,
) -> None:
    [(digest,)] = commands.rows(
        "select answer_hash from benchmark_testcase t join benchmark_problem p on p.id = t.problem_id "
        "where p.external_id = 'apple_sum' and origin = 'sample'"
    )
    blob = commands.var / "blobs" / digest[:2] / digest
    content = blob.read_bytes()
    blob.unlink()
    commands.fake_providers.script(SOLUTION)
    document = commands.baseline(*FIRST, status=1, method="reflexion")
    assert (document["done"], document["failed"]) == (0, 1)
    assert next(iter(commands.report(document["run"])["faults"])).startswith("judge fault")

    blob.write_bytes(content)
    assert commands.baseline("--resume", document["run"])["solved"] == 1
    assert len(commands.fake_providers.requests) == 1


def test_a_chain_that_broke_off_between_steps_goes_on_with_the_same_questions(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(WRONG, failure(400), SOLUTION)
    document = commands.baseline(*FIRST, status=1, method="reflexion")
    # As after a kill during the judging: the row says that a process is still judging.
    commands.rows(
        "update benchmark_judgement set state = 'running', verdict = '', result = null, lease_until = '2999-01-01'"
    )
    judgements = commands.rows("select id from benchmark_judgement")
    resumed = commands.baseline("--resume", document["run"])
    assert (resumed["state"], resumed["generations"], resumed["solved"]) == ("finished", 2, 1)
    _, refused, asked_again = prompts(commands)
    assert refused == asked_again
    assert commands.rows("select id from benchmark_judgement where verdict = 'WA'") == judgements


def test_a_problem_without_samples_is_named_and_its_first_answer_counts(commands: CommandSandbox) -> None:
    commands.rows("delete from benchmark_testcase where origin = 'sample'")
    commands.fake_providers.script(WRONG)
    _, errors = commands.manage(
        "run_baseline", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "reflexion", *FIRST
    )
    assert "Without samples; the first answer with a program counts: apple_sum." in errors
    assert len(commands.fake_providers.requests) == 1


def test_a_profile_is_stored_with_what_it_assumes_and_sends_what_it_says(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION, SOLUTION)
    document = commands.baseline(*FIRST, "--profile", "usaco-code", method="reflexion")
    assert (document["generations"], document["solved"]) == (3, 1)
    assert all("temperature" not in request.body for request in commands.fake_providers.requests)
    figures = commands.report(document["run"])
    assert (figures["parameters"]["i"], figures["parameters"]["policy"]) == (2, "compat")
    assert figures["manifest"]["profile"]["name"] == "usaco-code"
    assert "Retrieval with Reflexion cannot be run" in figures["manifest"]["profile"]["assumed"]
    assert "Time limit" not in prompts(commands)[0]


def test_every_smaller_i_is_scored_from_one_run_once_all_answers_that_would_count_are_judged(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(TALK, ONLY_THE_SAMPLE, WRONG, SOLUTION)
    settings = ("--set", "run_all=true", "selection=last")
    run = commands.baseline(*FIRST, *settings, method="reflexion")["run"]
    values = [(one["i"], one["value"], one["unjudged"]) for one in commands.report(run)["after"]]
    assert values == [(0, 0, 0), (1, None, 1), (2, 0, 0), (3, 1, 0)]
    assert stored_scores(commands) == values, "the end of the run stores its figures"
    output, _ = commands.manage("judge_answers", run, "--json")
    assert json.loads(output) == {"runs": [{"run": run, "judged": 2, "left": 0}]}
    after = [(one["i"], one["value"], one["unjudged"]) for one in commands.report(run)["after"]]
    assert after == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0)]
    assert stored_scores(commands) == after, "judging the answers stores them again"
    judged = "select g.step, j.suite, j.verdict from benchmark_generation g left join benchmark_judgement j on j.id = "
    assert commands.rows(judged + "g.hidden_judgement_id order by g.step") == [
        (0, None, None), (1, "all", "WA"), (2, "all", "WA"), (3, "all", "AC")
    ]  # fmt: skip
    output, _ = commands.manage("judge_answers", run)
    assert "0 answers judged, 0 left" in output
    assert len(commands.fake_providers.requests) == 4
    assert commands.rows("select count(*) from benchmark_judgement where suite = 'all'") == [(3,)]


def stored_scores(commands: CommandSandbox) -> list[tuple[int, float | None, int]]:
    """Return the stored scores of the one run after 0 … i reflections."""
    [(document,)] = commands.rows("select figures from benchmark_cachedrunreport")
    return [(one["i"], one["value"], one["unjudged"]) for one in json.loads(document)["after"]]
