"""Runs over questions: ranked without a model, chosen by one through the real SDK, resumed, bounded, estimated."""

import json
import signal
from dataclasses import replace
from typing import Any

import pytest

from benchmark.representations import KINDS, read_section
from benchmark.similarity.choice import read_letter
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_resume import until
from tests.fake_providers import Script, pieces_of
from tests.fake_providers.scripts import Tokens, failure

RANK = ("--questions", "alike", "--task", "rank")
CHOOSE = ("--questions", "alike", "--task", "choose")
SAYS_A = "openai:fixed:The right one is clear. Answer: A"


def run(commands: CommandSandbox, *arguments: str, status: int = 0) -> dict[str, Any]:
    output, _ = commands.manage("run_mcqs", "--json", *arguments, status=status)
    document: dict[str, Any] = json.loads(output)
    return document


def answered(text: str, tokens: int = 7) -> Script:
    return Script(pieces_of(text), tokens=Tokens(output=tokens))


def prompts(commands: CommandSandbox) -> list[str]:
    return [request.body["messages"][0]["content"] for request in commands.fake_providers.requests]


def test_statements_mislead_and_solutions_lead(commands: CommandSandbox) -> None:
    """The shape of AlgoSimBench's Table 1: by statement worse than chance, by solution far better."""
    for scorer in ("bm25", "tfidf"):
        by_statement = run(commands, *RANK, "--representation", "statement", "--scorer", scorer)
        assert by_statement["answered"] == by_statement["questions"] == 47
        assert by_statement["accuracy"] < 0.15
        assert by_statement["mrr"] < 0.45
        assert (
            by_statement["accuracy_interval"][0]
            < by_statement["accuracy"]
            < by_statement["accuracy_interval"][1]
        )
    by_solution = run(commands, *RANK, "--representation", "solution", "--statistics", "options")
    assert by_solution["accuracy"] > 0.9
    assert by_solution["random_accuracy"] == 0.25
    assert round(100 * by_solution["random_mrr"], 2) == 52.08
    assert by_statement["rating"]["questions"] == 47
    assert -1 <= by_statement["rating"]["r"] <= 1
    shares = by_statement["over_represented"]
    assert 0 < len(shares) <= 10
    assert all(one["share_failed"] > one["share_all"] for one in shares)
    assert sum(one["right"] for one in by_statement["positions"]) == 47
    assert by_statement["tokens"] is None
    text, _ = commands.manage("report_mcqs", by_solution["run"])
    assert "rank with bm25, statistics over the options, by solution on alike" in text
    assert "52.08 %" in text
    assert commands.fake_providers.requests == []


def test_a_model_chooses_and_letters_are_read_where_they_can_be(commands: CommandSandbox) -> None:
    commands.fake_providers.script(
        answered("I compare.\n\n**Answer: B**", tokens=40),
        answered("Answer: A\nNo, on second thought:\nAnswer: C", tokens=20),
        replace(answered("I cannot answer a question like this: A or B?", tokens=30), finish="length"),
        answered("Answer: D\n\nThe other options answer a different question.", tokens=10),
    )
    limited = (*CHOOSE, "--representation", "statement", "--limit", "4", "--concurrency", "1")
    figures = run(commands, *limited, "--model", "openai:gpt-4o", "--temperature", "0.2")
    assert (figures["answered"], figures["unreadable"], figures["questions"]) == (4, 1, 4)
    assert figures["finishes"] == {"stop": 3, "length": 1, "refusal": 0, "empty": 0}
    text, _ = commands.manage("report_mcqs", figures["run"])
    assert "1 of 4 replies (25.0 %): cut off at the token limit." in text
    assert [one["chosen"] for one in figures["positions"]] == [0, 1, 1, 1]
    assert figures["tokens"] == {
        "representations": 0,
        "answer": 25,
        "total": 25,
        "ratio": 1,
        "written": 0,
    }
    assert commands.fake_providers.requests[0].body["temperature"] == 0.2
    first = prompts(commands)[0]
    assert "You get the description of a reference problem" in first
    for letter in "ABCD":
        assert f"[BEGIN OPTION {letter}]\n" in first
    assert first.count("[BEGIN REFERENCE]") == 1


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The answer is (D).", "D"),
        ("My **answer** is **B**, not A.", "B"),
        ("**Final Answer: (C)**", "C"),
        ("Answer: A\n\nThe answer is B only if the input is sorted.", "A"),
        ("The answer is a tree.", None),
        ("Answer A or B", None),
    ],
)
def test_a_letter_is_read_from_the_answer_and_not_from_prose(reply: str, letter: str | None) -> None:
    assert read_letter(reply) == letter


def test_a_repeated_choice_is_a_replay_and_fresh_draws_ask_again(commands: CommandSandbox) -> None:
    asked = (*CHOOSE, "--representation", "statement", "--model", SAYS_A, "--limit", "3")
    assert run(commands, *asked)["replies_repeated"] == 0
    again = run(commands, *asked)
    assert (again["replies_repeated"], again["spent"]["calls"], again["parameters"]["draw"]) == (3, 0, 0)
    assert "Replay: all 3 replies repeat stored ones." in commands.manage("report_mcqs", again["run"])[0]
    for draw in (1, 2):
        fresh = run(commands, *asked, "--draws", "fresh")
        assert (fresh["replies_repeated"], fresh["spent"]["calls"]) == (0, 3)
        assert fresh["parameters"]["draw"] == draw
    ranked = (*RANK, "--representation", "statement", "--draws", "fresh")
    _, errors = commands.manage("run_mcqs", *ranked, status=1)
    assert "--draws cannot be used with --task rank" in errors


def test_the_right_option_can_be_put_at_any_letter(commands: CommandSandbox) -> None:
    for letter, accuracy in (("A", 1), ("D", 0)):
        arguments = (*CHOOSE, "--representation", "solution", "--model", SAYS_A, "--correct-at", letter)
        figures = run(commands, *arguments, "--limit", "8")
        assert figures["accuracy"] == accuracy
        assert [one["right"] for one in figures["positions"]] == [8 * (one == letter) for one in "ABCD"]
    assert "solution program of a reference" in prompts(commands)[0]


def test_representations_are_written_once_for_every_run_and_their_tokens_counted(
    commands: CommandSandbox,
) -> None:
    asm = ("--representation", "asm_nl", "--model", "openai:echo", "--limit", "3")
    output, _ = commands.manage("run_mcqs", *CHOOSE, *asm, "--dry-run", "--json", "--price", "1", "1")
    told = json.loads(output)
    assert commands.fake_providers.requests == []
    chosen = run(commands, *CHOOSE, *asm)
    written = len(commands.fake_providers.requests) - 3
    assert (told["representations"], told["questions"]) == (written, 3)
    assert told["estimates"]["low"]["generations"] == written + 3
    assert told["estimates"]["high"]["cost_usd"] > told["estimates"]["low"]["cost_usd"] > 0
    assert "Natural Language Solution:" in prompts(commands)[0]
    assert (chosen["tokens"]["representations"], chosen["tokens"]["answer"]) == (35, 7)
    assert chosen["tokens"]["written"] == 7 * written
    assert chosen["tokens"]["ratio"] is None
    run(commands, *CHOOSE, "--representation", "statement", "--model", "openai:echo", "--limit", "2")
    text, _ = commands.manage("report_mcqs", chosen["run"])
    assert "of the run by statement" not in text, "it has other questions"
    run(commands, *CHOOSE, "--representation", "statement", "--model", "openai:echo", "--limit", "3")
    text, _ = commands.manage("report_mcqs", chosen["run"])
    assert "×6.0 of the run by statement" in text
    commands.fake_providers.requests.clear()
    ranked = run(commands, *RANK, *asm)
    assert commands.fake_providers.requests == []
    assert (ranked["tokens"]["representations"], ranked["tokens"]["answer"]) == (35, 0)
    assert ranked["fallbacks"] == 0
    run(commands, *RANK, *asm, "--temperature", "1")
    assert len(commands.fake_providers.requests) == written


@pytest.mark.parametrize(
    ("heading", "is_found"),
    [
        ("Natural Language Solution: ", True),
        ("## 2. Natural Language Solution\n", True),
        ("__Natural Language Solution__\n", True),
        ("**3) natural language solution:**\n", True),
        ("Natural Language Solution\n", False),
        ("The Natural Language Solution: ", False),
    ],
)
def test_the_heading_of_a_section_may_be_marked_and_numbered(heading: str, is_found: bool) -> None:
    assert read_section(KINDS["asm_nl"], f"I think.\n\n{heading}Sort.") == ("Sort." if is_found else None)


def test_the_section_is_read_and_without_one_the_reply_stands_for_it(commands: CommandSandbox) -> None:
    commands.fake_providers.script(
        answered("Solution Program: a draft\n\n## Solution Program:\n```python\nprint(1)\n```\n"),
        answered("**Solution Program:**\n\nI have none."),
        answered("I have no idea.", tokens=3),
        failure(400),
    )
    arguments = ("--dataset", "tagged", "--model", "openai:gpt-4o", "--representation", "asm_pl")
    cut = (*arguments, "--concurrency", "1", "--price", "0", "1000000", "--max-cost", "15")
    output, errors = commands.manage("represent", *cut, "--json", status=1)
    document = json.loads(output)
    assert (document["written"], len(document["without_section"]), document["output_tokens"]) == (3, 2, 17)
    assert "the budget of 15.00 US dollars is used up (17.00 spent)" in errors
    kept = commands.rows("select text, section_found from benchmark_representation order by id")
    assert kept == [("print(1)\n", 1), ("**Solution Program:**\n\nI have none.", 0), ("I have no idea.", 0)]
    _, errors = commands.manage("represent", *arguments, "--concurrency", "1", status=1)
    assert "1 failed: provider fault (bad_request)" in errors
    before = len(commands.fake_providers.requests)
    output, _ = commands.manage("represent", *arguments)
    assert "tagged: 48 of 48 problems have the representation asm_pl." in output
    assert len(commands.fake_providers.requests) == before + 1


def test_a_representation_is_paid_for_once_and_its_budget_kept_whoever_wants_it(
    commands: CommandSandbox,
) -> None:
    wanted = ("--model", "openai:gpt-4o", "--representation", "summary", "--concurrency", "1")
    writing = ("represent", "--dataset", "tagged", *wanted, "--max-calls", "2")
    restated = answered("Problem Restatement: add them.")
    commands.fake_providers.script(restated, Script(pieces_of("Problem"), ending="hang"))
    killed = commands.start(*writing)
    until(lambda: len(commands.fake_providers.requests) == 2)
    for second in (writing, ("run_mcqs", *RANK, *wanted)):
        _, errors = commands.manage(*second, status=1)
        assert "Writing summary for tagged by openai:gpt-4o is already running in another process" in errors
    assert len(commands.fake_providers.requests) == 2
    assert commands.rows("select count(*) from benchmark_similarityrun") == [(0,)]
    killed.signal(signal.SIGKILL)
    killed.wait()
    commands.fake_providers.script(restated)
    for _ in range(2):
        output, errors = commands.manage(*writing, "--json", status=1)
        assert "the budget of 2 calls is used up" in errors
        document = json.loads(output)
        assert (document["written"], document["spent"]["calls"], document["output_tokens"]) == (2, 2, 14)
    assert len(commands.fake_providers.requests) == 3, "two that were paid for, one in flight at the kill"


def test_a_run_keeps_its_budget_through_kills_and_faults_and_goes_on_with_what_it_began_with(
    commands: CommandSandbox,
) -> None:
    """14 dollars pay for two replies of 7 tokens; a third would be the first beyond."""
    choosing = (*CHOOSE, "--representation", "statement", "--model", "openai:gpt-4o", "--limit", "5")
    money = ("--price", "0", "1000000", "--max-cost", "14", "--concurrency", "1")
    commands.fake_providers.script(answered("Answer: A"), Script(pieces_of("Answer"), ending="hang"))
    killed = commands.start("run_mcqs", *choosing, *money)
    until(lambda: len(commands.fake_providers.requests) == 2)
    [(run_id,)] = commands.rows("select id from benchmark_similarityrun")
    _, errors = commands.manage("run_mcqs", "--resume", run_id, status=1)
    assert "is already running in another process" in errors
    assert len(commands.fake_providers.requests) == 2, "the second process makes no paid call"
    killed.signal(signal.SIGKILL)
    killed.wait()
    [(state, calls)] = commands.rows("select state, paid_calls from benchmark_similarityrun")
    assert (state, calls) == ("open", 1)

    commands.fake_providers.script(failure(400), answered("Answer: B"))
    stopped = run(commands, "--resume", run_id, status=1)
    assert (stopped["state"], stopped["answered"]) == ("stopped", 2)
    assert stopped["stop_reason"] == "the budget of 14.00 US dollars is used up (14.00 spent)"
    assert [one["about"] for one in stopped["faults"]] == ["question 2"]
    assert "provider fault (bad_request)" in stopped["faults"][0]["fault"]
    spent = {name: stopped["spent"][name] for name in ("calls", "input_tokens", "output_tokens", "cost_usd")}
    assert spent == {"calls": 2, "input_tokens": 22, "output_tokens": 14, "cost_usd": 14}
    text, _ = commands.manage("report_mcqs", stopped["run"])
    assert "1 failed: provider fault (bad_request)" in text

    commands.rows("update benchmark_questionset set content_hash = 'other'")
    _, errors = commands.manage("run_mcqs", "--resume", run_id, status=1)
    assert "The questions changed since run" in errors
    [(manifest,)] = commands.rows("select manifest from benchmark_similarityrun")
    commands.rows("update benchmark_questionset set content_hash = ?", [json.loads(manifest)["questions"]])
    commands.fake_providers.script(*[answered("Answer: C")] * 3)
    finished = run(commands, "--resume", run_id, "--max-cost", "1000", "--requests-per-minute", "100000")
    assert (finished["state"], finished["answered"], finished["faults"]) == ("finished", 5, [])
    assert finished["spent"]["calls"] == 5
    before = len(commands.fake_providers.requests)
    assert before == 7, "five answers, one cut off by the kill, one fault"

    again = run(commands, *choosing, "--price", "0", "1000000")
    assert (again["answered"], again["correct"], again["spent"]["calls"]) == (5, finished["correct"], 0)
    assert len(commands.fake_providers.requests) == before, "what one run has paid for, another repeats"
    assert again["tokens"] == finished["tokens"]


def test_conflicting_options_are_refused_with_the_reason(commands: CommandSandbox) -> None:
    ranked, chosen = (*RANK, "--representation"), (*CHOOSE, "--representation")
    for arguments, message in (
        ((*chosen, "statement"), "A model is needed to choose by statement"),
        ((*ranked, "asm_nl"), "A model is needed to rank by asm_nl"),
        ((*ranked, "solution", "--model", SAYS_A), "--model has no use"),
        ((*ranked, "solution", "--scorer", "bm52"), "there is no scorer 'bm52'"),
        ((*ranked, "solution", "--scorer", "encoder:x"), "pip install sentence-transformers"),
        ((*chosen, "solution", "--model", SAYS_A, "--context-tokens", "9"), "more than the context of 9"),
        ((*chosen, "solution", "--model", SAYS_A, "--scorer", "bm25"), "the model compares"),
        ((*chosen, "solution", "--model", SAYS_A, "--max-cost", "1"), "needs a price"),
        (("--questions", "like", "--task", "rank", "--representation", "solution"), "There are: alike."),
        (("--task", "rank"), "Missing: --questions, --representation"),
        (("--resume", "7"), "There is no run '7'"),
    ):
        _, errors = commands.manage("run_mcqs", *arguments, status=1)
        assert message in errors
    assert commands.rows("select count(*) from benchmark_similarityrun") == [(1,)], (
        "what cannot begin leaves no run"
    )
