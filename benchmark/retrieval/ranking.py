"""Ranking of the documents most similar to a query, without the problem itself (leave-one-out)."""

from dataclasses import dataclass
from typing import Unpack

from benchmark.retrieval.documents import SearchCorpus
from benchmark.retrieval.exclusion import Exclusions, excluded_indices
from benchmark.retrieval.formulas import FORMULAS
from benchmark.retrieval.index import NothingToRankError
from benchmark.retrieval.split import sample_key
from benchmark.retrieval.tokenizers import TOKENIZERS


@dataclass(frozen=True)
class Bm25:
    """The parameters of a ranking; the defaults are the USACO paper's (docs/spec.md 1.2).

    `k1` and `epsilon` are not negative, `b` is from 0 to 1; tfidf uses none of them, and only okapi uses epsilon.
    Raises ValueError that names the invalid parameter.
    """

    tokenizer: str = "usaco_split"
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    formula: str = "okapi"
    engine: str = "index"

    def __post_init__(self) -> None:
        for name, value, highest in (
            ("k1", self.k1, 1000),
            ("b", self.b, 1),
            ("epsilon", self.epsilon, 1000),
        ):
            if not 0 <= value <= highest:
                raise ValueError(f"{name} is {value:g}, but must be from 0 to {highest}")
        if self.formula not in FORMULAS:
            raise ValueError(f"formula is {self.formula}, but must be one of {', '.join(FORMULAS)}")
        if self.engine == "rank_bm25" and self.formula != "okapi":
            raise ValueError(f"formula is {self.formula}, but the engine rank_bm25 computes only okapi")


@dataclass(frozen=True)
class Hit:
    """A retrieved document: its id, its index in the corpus and its score."""

    id: str
    index: int
    score: float


def rank(
    corpus: SearchCorpus,
    query: str,
    *,
    top: int,
    without: str | None = None,
    bm25: Bm25 | None = None,
    **exclusions: Unpack[Exclusions],
) -> list[Hit]:
    """Return the `top` best documents, best first, ties in the order of the corpus.

    The document `without` and all documents excluded with it (`excluded_indices`) affect no statistic of the index.
    Raises NothingToRankError, and NoDateError if `exclude_not_earlier` needs a missing date.
    """
    bm25 = bm25 or Bm25()
    excluded = excluded_indices(corpus, without, **exclusions)
    words = TOKENIZERS[bm25.tokenizer](query)
    try:
        found = corpus.index(bm25.engine, bm25.tokenizer).best(
            words,
            top,
            k1=bm25.k1,
            b=bm25.b,
            epsilon=bm25.epsilon,
            formula=bm25.formula,
            excluded=excluded,
        )
    except NothingToRankError:
        apart = f"apart from {without} " if without else ""
        others = f"and {len(excluded) - 1} others excluded with it " if len(excluded) > 1 else ""
        raise NothingToRankError(f"{apart}{others}there is no other text to search in") from None
    return [Hit(corpus.documents[index].id, index, score) for index, score in found]


def draw(
    corpus: SearchCorpus,
    *,
    top: int,
    seed: int,
    without: str,
    **exclusions: Unpack[Exclusions],
) -> list[Hit]:
    """Return `top` random documents from those that `rank` searches; their scores are 0.

    The sample depends only on the seed, `without` and the documents' ids. Raises NothingToRankError and NoDateError.
    """
    excluded = excluded_indices(corpus, without, **exclusions)
    kept = [index for index in range(len(corpus.documents)) if index not in excluded]
    if not kept:
        raise NothingToRankError(f"apart from {without} there is no other text to draw from")
    kept.sort(key=lambda index: sample_key(seed, without, corpus.documents[index].id))
    return [Hit(corpus.documents[index].id, index, 0.0) for index in kept[:top]]
