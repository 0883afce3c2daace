"""Every formula by name: the index computes what the definition says, whatever is left out."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.retrieval import FORMULAS, Bm25, NothingToRankError
from benchmark.retrieval.index import Bm25Index

K1, B, EPSILON = 1.5, 0.75, 0.25
PARAMETERS: dict[str, Any] = {"k1": K1, "b": B, "epsilon": EPSILON}
WORD = st.sampled_from("abcdef")
DOCUMENTS = st.lists(st.lists(WORD, max_size=9), min_size=2, max_size=8)


def defined(formula: str, documents: list[list[str]], query: list[str], document: list[str]) -> float:
    """The score as `benchmark.retrieval.formulas` and the sources named there define it, word by word."""
    n = len(documents)
    df = Counter(word for one in documents for word in set(one))
    mean = sum(map(len, documents)) / n
    f = Counter(document)
    if formula == "tfidf":
        idf = {word: math.log((1 + n) / (1 + df[word])) + 1 for word in df}
        ours = {word: count * idf[word] for word, count in f.items()}
        theirs = {word: count * idf[word] for word, count in Counter(query).items() if word in idf}
        lengths = math.hypot(*ours.values()) * math.hypot(*theirs.values())
        return sum(ours[word] * theirs.get(word, 0) for word in ours) / lengths if lengths else 0.0
    score = 0.0
    for word in query:
        if f[word]:
            share = f[word] / (f[word] + K1 * (1 - B + B * len(document) / mean))
            match formula:
                case "atire":
                    score += math.log(n / df[word]) * (K1 + 1) * share
                case "lucene":
                    score += math.log(1 + (n - df[word] + 0.5) / (df[word] + 0.5)) * share
                case "bm25+":
                    score += math.log((n + 1) / df[word]) * ((K1 + 1) * share + 1)
    return score


@pytest.mark.slow
@settings(max_examples=40)
@given(DOCUMENTS, st.lists(WORD, max_size=9), st.sets(st.integers(0, 7), max_size=3))
def test_scores_are_those_of_the_definition_and_the_best_are_the_highest(
    documents: list[list[str]], query: list[str], excluded: set[int]
) -> None:
    excluded = {place for place in excluded if place < len(documents)}
    kept = [place for place in range(len(documents)) if place not in excluded]
    index = Bm25Index(documents)
    for formula in FORMULAS.keys() - {"okapi"}:
        try:
            scores = index.scores(query, **PARAMETERS, formula=formula, excluded=excluded)
        except NothingToRankError:
            assert not any(documents[place] for place in kept)
            return
        rest = [documents[place] for place in kept]
        assert scores.tolist() == pytest.approx(
            [defined(formula, rest, query, document) for document in rest]
        ), formula
        ranked = sorted(zip(kept, scores.tolist(), strict=True), key=lambda found: (-found[1], found[0]))
        assert index.best(query, 3, **PARAMETERS, formula=formula, excluded=excluded) == ranked[:3]


def test_only_what_can_be_computed_is_taken() -> None:
    with pytest.raises(ValueError, match="formula is bm26, but must be one of okapi, atire, lucene"):
        Bm25(formula="bm26")
    with pytest.raises(ValueError, match="formula is tfidf, but the engine rank_bm25 computes only okapi"):
        Bm25(formula="tfidf", engine="rank_bm25")
