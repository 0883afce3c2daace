"""Controls, splits and the bound on retrieved texts, on a chain in memory."""

import asyncio
from typing import Any

import pytest

from benchmark.methods import METHODS, parse_settings
from benchmark.models import Generation
from tests.benchmark.methods.scripted import ScriptedChain


def solve(method: str, passes: list[bool], *settings: str) -> tuple[Generation, ScriptedChain]:
    chain = ScriptedChain(passes)
    chosen: Any = METHODS[method]
    return asyncio.run(chosen.solve(chain, parse_settings(chosen.settings, settings))), chain


def test_a_retry_asks_the_same_question_until_the_samples_pass() -> None:
    selected, chain = solve("retry", [False, False, True, False])
    assert selected.text == "reply 3"
    assert [purpose for purpose, _, _ in chain.asked] == ["solve"] * 3
    assert len({prompt for _, prompt, _ in chain.asked}) == 1
    _, chain = solve("retry", [True, False, False], "i=2", "run_all=true")
    assert len(chain.asked) == 3


def test_examples_by_lot_follow_from_the_seed_and_need_no_draft() -> None:
    prompts = {seed: solve("random", [], f"lot_seed={seed}", "p=1")[1].asked for seed in range(8)}
    assert prompts[0] == solve("random", [], "lot_seed=0", "p=1")[1].asked
    assert all(len(asked) == 1 and "OWN SOLUTION" not in asked[0][1] for asked in prompts.values())
    assert len({asked[0][1] for asked in prompts.values()}) > 1
    [(_, _, record)] = prompts[0]
    assert record is not None
    assert record["random"]["without"] == "1_cows"
    assert record["random"]["hits"][0]["truncated_to"] is None


def test_only_the_training_part_is_searched_in() -> None:
    shown = set()
    for seed in range(6):
        _, chain = solve("episodic", [], "query=statement", "p=4", "train=2", f"split_seed={seed}")
        [(_, prompt, record)] = chain.asked
        assert record is not None
        assert 1 <= len(record["episodic"]["hits"]) <= 2
        assert "OWN SOLUTION" not in prompt
        shown |= {hit["id"] for hit in record["episodic"]["hits"]}
    assert len(shown) > 2


@pytest.mark.parametrize(("tokens", "similar", "excerpt"), [(100, [None, None], None), (9, [None, 14], 0)])
def test_the_guard_cuts_the_textbook_first_then_the_least_similar_problem(
    tokens: int, similar: list[int | None], excerpt: int | None
) -> None:
    _, chain = solve("semantic+episodic", [], "query=statement", f"shown_max_tokens={tokens}")
    [(_, prompt, record)] = chain.asked
    assert record is not None
    assert [hit["truncated_to"] for hit in record["episodic"]["hits"]] == similar
    assert [hit["truncated_to"] for hit in record["semantic"]["hits"]] == [excerpt]
    assert ("TEXTBOOK" in prompt) == (excerpt is None)
