"""Train/test split and random draws: both parts have the mix of the whole, and are the same on every machine."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.retrieval import Document, NothingToRankError, SearchCorpus, draw, training_part

USACO = [
    (f"{number}_{tier}", tier)
    for tier, count in (("bronze", 123), ("silver", 100), ("gold", 63), ("platinum", 21))
    for number in range(count)
]


def test_the_papers_split_has_its_sizes_and_the_mix_of_all_tiers() -> None:
    part = training_part(USACO, 200, 123)
    assert len(part) == 200
    tiers = dict(USACO)
    assert Counter(tiers[name] for name in part) == {"bronze": 80, "silver": 65, "gold": 41, "platinum": 14}
    assert part == training_part(reversed(USACO), 200, 123) != training_part(USACO, 200, 124)
    assert sorted(part)[:3] == ["0_bronze", "0_gold", "0_silver"]  # never another, on any machine


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=40), st.integers(1, 39), st.integers(0, 5))
def test_every_tier_gives_its_share_to_within_one(tiers: list[str], size: int, seed: int) -> None:
    problems = [(str(number), tier) for number, tier in enumerate(tiers)]
    if size >= len(problems):
        with pytest.raises(ValueError, match=f"train={size} leaves nothing to test: there are {len(tiers)}"):
            training_part(problems, size, seed)
        return
    part = training_part(problems, size, seed)
    assert len(part) == size
    for tier, count in Counter(tiers).items():
        given_by_tier = sum(1 for name, its in problems if its == tier and name in part)
        assert abs(given_by_tier - size * count / len(tiers)) < 1


def test_lots_fall_differently_for_each_problem_and_seed_and_never_on_the_problem_itself() -> None:
    corpus = SearchCorpus(tuple(Document(str(number), "", "text") for number in range(30)))
    drawn = {
        (seed, without): tuple(hit.id for hit in draw(corpus, top=3, seed=seed, without=without))
        for seed in range(3)
        for without in ("4", "5")
    }
    assert len(set(drawn.values())) == 6
    assert all(without not in ids and len(set(ids)) == 3 for (_, without), ids in drawn.items())
    [only] = draw(corpus, top=3, seed=0, without="4", only={"4", "7"})
    assert (only.id, only.index, only.score) == ("7", 7, 0.0)
    with pytest.raises(NothingToRankError, match="apart from 4 there is no other"):
        draw(corpus, top=1, seed=0, without="4", only={"4"})
