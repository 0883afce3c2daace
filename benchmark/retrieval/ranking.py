"""The documents most like a query, found without the problem asked about (leave-one-out)."""

from collections.abc import Collection
from dataclasses import dataclass

from benchmark.retrieval.documents import Corpus
from benchmark.retrieval.exclusion import places_left_out
from benchmark.retrieval.formulas import FORMULAS
from benchmark.retrieval.index import NothingToRank
from benchmark.retrieval.split import lot
from benchmark.retrieval.tokenizers import TOKENIZERS


@dataclass(frozen=True)
class Bm25:
    """The parameters of a ranking; the defaults are the USACO paper's (docs/spec.md 1.2).

    `k1` and `epsilon` are not negative, `b` is from 0 to 1; tfidf uses none of them, and only okapi has an epsilon.
    Raises ValueError, which names what is not possible.
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
            raise ValueError(f"the engine rank_bm25 knows no formula but okapi, not {self.formula}")


@dataclass(frozen=True)
class Hit:
    """A document found, by its id and its place in the corpus."""

    id: str
    index: int
    score: float


def rank(
    corpus: Corpus,
    query: str,
    *,
    top: int,
    without: str | None = None,
    bm25: Bm25 | None = None,
    exclude_same_name: bool = False,
    exclude_near_duplicates: bool = False,
    exclude_not_earlier: bool = False,
    only: Collection[str] | None = None,
) -> list[Hit]:
    """The `top` best documents, best first; equal scores in the order of the corpus.

    The document `without` is left out of the index itself, so it affects no statistic; so are the documents that
    the exclusions name by comparison with it, and those whose ids are not in `only` (`places_left_out`). Raises
    NothingToRank, and NoDate where a date is needed.
    """
    bm25 = bm25 or Bm25()
    left_out = places_left_out(
        corpus,
        without,
        same_name=exclude_same_name,
        near_duplicates=exclude_near_duplicates,
        not_earlier=exclude_not_earlier,
        only=only,
    )
    words = TOKENIZERS[bm25.tokenizer](query)
    try:
        found = corpus.index(bm25.engine, bm25.tokenizer).best(
            words,
            top,
            k1=bm25.k1,
            b=bm25.b,
            epsilon=bm25.epsilon,
            formula=bm25.formula,
            left_out=left_out,
        )
    except NothingToRank:
        apart = f"apart from {without} " if without else ""
        excluded = f"and {len(left_out) - 1} others excluded with it " if len(left_out) > 1 else ""
        raise NothingToRank(f"{apart}{excluded}there is no other text to search in") from None
    return [Hit(corpus.documents[place].id, place, score) for place, score in found]


def draw(
    corpus: Corpus,
    *,
    top: int,
    seed: int,
    without: str,
    exclude_same_name: bool = False,
    exclude_near_duplicates: bool = False,
    exclude_not_earlier: bool = False,
    only: Collection[str] | None = None,
) -> list[Hit]:
    """`top` documents by lot instead of likeness, from those that `rank` would search in; their scores are 0.

    The lot of a document follows from the seed, `without` and its id. Raises NothingToRank and NoDate.
    """
    left_out = places_left_out(
        corpus,
        without,
        same_name=exclude_same_name,
        near_duplicates=exclude_near_duplicates,
        not_earlier=exclude_not_earlier,
        only=only,
    )
    places = [place for place in range(len(corpus.documents)) if place not in left_out]
    if not places:
        raise NothingToRank(f"apart from {without} there is no other text to draw from")
    places.sort(key=lambda place: lot(seed, without, corpus.documents[place].id))
    return [Hit(corpus.documents[place].id, place, 0.0) for place in places[:top]]
