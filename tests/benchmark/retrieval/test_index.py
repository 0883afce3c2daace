"""Scores from the one index have the bits of a rank_bm25 index rebuilt without the documents left out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmark.retrieval import NothingToRankError
from benchmark.retrieval.index import Bm25Index, Floats
from benchmark.retrieval.reference_bm25 import ReferenceIndex

WORD = st.sampled_from([*"abcdefgh", "", "é", "a\n"])
DOCUMENTS = st.lists(st.lists(WORD, max_size=9), min_size=1, max_size=9)
PAPER: dict[str, Any] = {"k1": 1.5, "b": 0.75, "epsilon": 0.25}
PARAMETERS = st.fixed_dictionaries(
    {
        "k1": st.sampled_from([1.5, 1.2, 0.9, 3.0]),
        "b": st.sampled_from([0.75, 0.4, 0.0]),
        "epsilon": st.sampled_from([0.25, 0.1, 0.0, 2.0]),
    }
)


def bits(scores: Floats) -> bytes:
    assert scores.dtype == np.float64
    return scores.tobytes()


@pytest.mark.slow
@given(DOCUMENTS, st.lists(WORD, max_size=12), st.sets(st.integers(0, 8), max_size=4), PARAMETERS)
@example(
    [["a"], ["a", "b"], ["b", "a"], ["c"]], ["a", "c", "a", "x"], {0}, PAPER
)  # the first occurrence of a word moves
@example([["b", "a"], ["a", "b"], ["c", "a"], ["b"], []], ["b", "a"], {0, 1}, PAPER)  # and moves further
@example([["a"], ["a"], ["a", "b"]], ["a", "b"], {0}, PAPER)  # a negative mean idf
@example([["a"], ["b"], ["c"]], ["a"], {0}, PAPER)  # the word leaves with the document
@example([["a"], ["b"]], [], set(), PAPER)
def test_scores_and_ranking_are_those_of_a_rebuilt_index(
    documents: list[list[str]], query: list[str], excluded: set[int], parameters: dict[str, Any]
) -> None:
    excluded = {place for place in excluded if place < len(documents)}
    index, rebuilt = Bm25Index(documents), ReferenceIndex(documents)
    try:
        expected = rebuilt.scores(query, **parameters, excluded=excluded)
    except NothingToRankError:
        with pytest.raises(NothingToRankError):
            index.scores(query, **parameters, excluded=excluded)
        with pytest.raises(NothingToRankError):
            index.best(query, 1, **parameters, excluded=excluded)
        return
    assert bits(index.scores(query, **parameters, excluded=excluded)) == bits(expected)
    for top in (1, 2, 20):
        best = index.best(query, top, **parameters, excluded=excluded)
        assert best == rebuilt.best(query, top, **parameters, excluded=excluded)


@pytest.mark.slow
def test_many_documents_excluded_one_after_the_other() -> None:
    """A collection with the shape of texts: few words are everywhere, most in one or two documents."""
    random = np.random.default_rng(307)
    documents = [[f"w{word}" for word in random.zipf(1.3, 300) if word < 10**6] for _ in range(60)]
    index, rebuilt = Bm25Index(documents), ReferenceIndex(documents)
    for place, query in enumerate(documents):
        assert bits(index.scores(query, **PAPER, excluded={place})) == bits(
            rebuilt.scores(query, **PAPER, excluded={place})
        )


@pytest.fixture(scope="module")
def usaco_words(shared_data: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Documents and queries of all 484 problems, in the words of the paper."""
    problems = json.loads((shared_data / "usaco" / "usaco_dict.json").read_text())
    statements = [problem["description"] for problem in problems.values()]
    analyses = [problem["solution"] for problem in problems.values()]
    documents = [
        f"{statement}\nSolution: \n{analysis}".split(" ")
        for statement, analysis in zip(statements, analyses, strict=True)
    ]
    return documents, [statement.split(" ") for statement in statements]


def test_real_problems(usaco_words: tuple[list[list[str]], list[list[str]]]) -> None:
    """A rebuilt index for each of the 484 takes 90 s in all (see benchmarks.retrieval); this test rebuilds some."""
    documents, queries = usaco_words
    assert len(documents) == 484
    index, rebuilt = Bm25Index(documents), ReferenceIndex(documents)
    for excluded in ({0}, {1}, {120}, {241}, {362}, {483}, {0, 1, 2}, {5, 77, 300}):
        query = queries[min(excluded)]
        assert bits(index.scores(query, **PAPER, excluded=excluded)) == bits(
            rebuilt.scores(query, **PAPER, excluded=excluded)
        )
    for place, query in enumerate(queries):
        scores = np.insert(index.scores(query, **PAPER, excluded={place}), place, -np.inf)
        order = np.argsort(-scores, kind="stable")[:7].tolist()
        assert index.best(query, 7, **PAPER, excluded={place}) == [(one, scores[one]) for one in order]


def test_real_articles(shared_data: Path) -> None:
    articles = json.loads((shared_data / "corpora" / "cpbook_v2.json").read_text())
    documents = [article["full_article"].split(" ") for article in articles]
    index, rebuilt = Bm25Index(documents), ReferenceIndex(documents)
    for excluded in ((), (0,), (80,), (162,)):
        query = documents[excluded[0] if excluded else 17][:200]
        assert bits(index.scores(query, **PAPER, excluded=excluded)) == bits(
            rebuilt.scores(query, **PAPER, excluded=excluded)
        )


@pytest.mark.parametrize("parameters", [{"k1": 0.0, "b": 0.75}, {"k1": 1.5, "b": 1.0}])
def test_where_rank_bm25_divides_nothing_by_nothing_the_word_adds_nothing(
    parameters: dict[str, Any],
) -> None:
    index = Bm25Index([["a", "b"], [], ["c"], ["d"], ["a", "a"]])
    scores = index.scores(["a", "c"], **parameters, epsilon=0.25, excluded=())
    assert np.isfinite(scores).all()
    assert scores[1] == scores[3] == 0
    assert scores[2] > scores[0] > 0
