"""A prompt with retrieved problems does not deny that the problem to solve is among them if it is."""

import asyncio

import pytest

from benchmark.methods import METHODS, parse_settings
from benchmark.models import Dataset
from benchmark.prompts import (
    PromptContext,
    PromptFormat,
    VisibleProblem,
    our_templates,
    revision_prompt,
    solve_prompt,
)
from benchmark.retrieval import Document, ProblemText, problem_corpus
from tests.benchmark.methods.scripted import ScriptedChain

DENIAL = "the problem you are asked about is not among them"
ADMISSION = "At least one of them has the same statement as the problem you are asked about"


def shown(dataset: Dataset, problem: str, method: str, *settings: str) -> tuple[list[str], list[str]]:
    """Return the ids shown to the model for the real problem, and the prompts."""
    task = VisibleProblem.of(dataset.problems.get(external_id=problem))
    chain = ScriptedChain([False, True], task, problem_corpus(dataset, "python"))
    chosen = parse_settings(METHODS[method].settings, ["query=statement", *settings])
    asyncio.run(METHODS[method].solve(chain, chosen))
    records = [record for _, _, record in chain.asked if record]
    return [hit["id"] for hit in records[0]["episodic"]["hits"]], [prompt for _, prompt, _ in chain.asked]


@pytest.mark.parametrize(
    ("problem", "found", "same"),
    [
        ("100_gold_cow_photography", "97_silver_cow_photography", True),
        ("400_gold_roadblock", "398_silver_roadblock", True),
        ("210_silver_milk_routing", "969_gold_milk_pumping", False),
    ],
)
def test_real_problems_with_one_statement_in_two_divisions(
    usaco: Dataset, problem: str, found: str, same: bool
) -> None:
    ids, prompts = shown(usaco, problem, "episodic+reflexion", "p=1", "i=1")
    assert ids == [found]
    assert len(prompts) == 2
    for prompt in prompts:
        assert (DENIAL in prompt, ADMISSION in prompt) == (not same, same)


def test_the_sentence_follows_what_is_shown_and_not_what_was_found(usaco: Dataset) -> None:
    _, [prompt] = shown(usaco, "100_gold_cow_photography", "episodic")
    assert ADMISSION in prompt
    _, [prompt] = shown(usaco, "100_gold_cow_photography", "episodic", "exclude_near_duplicates=true")
    assert DENIAL in prompt


@pytest.mark.parametrize(
    ("statement", "same"), [("Count the\n cows!", True), ("Count the pigs.", False), ("", False)]
)
def test_short_statements_are_compared_by_their_words(statement: str, same: bool) -> None:
    task = VisibleProblem("1", "Count the cows.", time_limit=2, memory_limit=2**28)
    text = ProblemText(statement, "analysis", "program")
    material = PromptContext((Document("2", "Two", text.holding("all"), text),))
    form = PromptFormat("python", state_limits=False)
    solving, revising = (
        prompt.messages[0].content
        for prompt in (
            solve_prompt(task, form, material),
            revision_prompt(task, form, material, [], "samples"),
        )
    )
    assert (ADMISSION in solving) == (ADMISSION in revising) == same
    used = "similar_problems_same" if same else "similar_problems"
    expected = our_templates().hash("instructions", used, "similar_problem", "your_turn", "problem")
    assert solve_prompt(task, form, material).template_hash == expected
