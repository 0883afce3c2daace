"""Reflexion: the answer that counts, the content of each prompt, and the end."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.methods import METHODS, parse_settings
from benchmark.methods.reflexion import select_answer
from benchmark.models import Generation
from tests.benchmark.methods.scripted import ScriptedChain

REFLEXION = METHODS["reflexion"]
PASSES = st.lists(st.booleans(), min_size=7, max_size=7)


def solve(passes: list[bool], *settings: str) -> tuple[Generation, ScriptedChain]:
    chain = ScriptedChain(passes)
    return asyncio.run(REFLEXION.solve(chain, parse_settings(REFLEXION.settings, settings))), chain


@pytest.mark.slow
@given(PASSES, st.integers(0, 6))
def test_stopping_early_selects_the_same_answer_for_fewer_questions(passes: list[bool], i: int) -> None:
    early, asked_early = solve(passes, f"i={i}")
    late, asked_late = solve(passes, f"i={i}", "run_all=true")
    assert early.text == late.text
    assert len(asked_late.asked) == i + 1
    assert len(asked_early.asked) == (passes[: i + 1].index(True) + 1 if True in passes[: i + 1] else i + 1)


@pytest.mark.slow
@given(PASSES)
def test_one_long_run_gives_the_selection_of_every_shorter_one(passes: list[bool]) -> None:
    for i in range(7):
        selected, _ = solve(passes, f"i={i}", "run_all=true")
        assert select_answer(passes[: i + 1], "first-passing") == selected.step


@pytest.mark.parametrize(
    ("passed", "first", "last"),
    [([True], 0, 0), ([False, False], 1, 1), ([False, True, True, False], 1, 3), ([True, False], 0, 1)],
)
def test_the_first_to_pass_counts_else_the_last(passed: list[bool], first: int, last: int) -> None:
    assert select_answer(passed, "first-passing") == first
    assert select_answer(passed, "last") == last


def test_the_paper_allows_three_reflections_and_every_question_shows_all_attempts_so_far() -> None:
    selected, chain = solve([False] * 7)
    assert selected.text == "reply 4"
    assert [purpose for purpose, _, _ in chain.asked] == ["solve", "reflect", "reflect", "reflect"]
    for number, (_, prompt, _) in enumerate(chain.asked):
        shown = [f"Attempt {n}:\n\nreply {n}\n" in prompt for n in range(1, 5)]
        assert shown == [n <= number for n in range(1, 5)]


def test_only_the_last_attempt_is_shown_again_where_that_is_asked_for() -> None:
    _, chain = solve([False] * 7, "buffer=last")
    prompts = [prompt for _, prompt, _ in chain.asked]
    assert "Attempt 3:\n\nreply 3\n" in prompts[3]
    assert "Attempt 2:" not in prompts[3]


def test_one_search_serves_every_prompt_but_the_draft() -> None:
    method = METHODS["semantic+episodic+reflexion"]
    chain = ScriptedChain([False, False, True])
    settings = parse_settings(method.settings, ["p=1", "semantic_max_chars=9"])
    assert asyncio.run(method.solve(chain, settings)).text == "reply 4"
    assert [purpose for purpose, _, _ in chain.asked] == ["draft", "solve", "reflect", "reflect"]
    (_, draft, unused), *answers = chain.asked
    assert unused is None
    assert "SIMILAR" not in draft
    assert "TEXTBOOK" not in draft
    for _, prompt, record in answers:
        assert "First problem and solution:\n\nSimilar: the " in prompt
        assert "[BEGIN TEXTBOOK EXCERPT]\nHow to Co\n[END TEXTBOOK EXCERPT]" in prompt
        assert "reply 1" not in prompt
        assert record == answers[0][2]
        assert record is not None
        assert record["semantic"]["hits"][0]["truncated_to"] == 9
        assert [hit["id"] for hit in record["episodic"]["hits"]] != ["1_cows"]
        assert record["query"] == "reply"
