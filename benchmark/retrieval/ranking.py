"""BM25Okapi over a corpus without the problem asked about (leave-one-out)."""

from dataclasses import dataclass

from rank_bm25 import BM25Okapi

from benchmark.retrieval.documents import Corpus
from benchmark.retrieval.tokenizers import TOKENIZERS


class NothingToRank(ValueError):
    """No document with words is left to search in."""


@dataclass(frozen=True)
class Bm25:
    """The parameters of a ranking; the defaults are the USACO paper's (METHODS.md 1.2)."""

    tokenizer: str = "usaco_split"
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25


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
    without: str,
    bm25: Bm25 | None = None,
    exclude_same_name: bool = False,
) -> list[Hit]:
    """The `top` best documents, best first; equal scores in the order of the corpus.

    The document `without` is left out of the index itself, so it affects no statistic; with
    `exclude_same_name` so are all documents of the same title (16 of 49 retrievals of the USACO paper's
    Figure 9 share the name, METHODS.md 1.4). Raises NothingToRank.
    """
    bm25 = bm25 or Bm25()
    tokenize = TOKENIZERS[bm25.tokenizer]
    title = next((_same(d.title) for d in corpus.documents if d.id == without), None)
    kept = [
        (index, document)
        for index, document in enumerate(corpus.documents)
        if document.id != without and not (exclude_same_name and _same(document.title) == title)
    ]
    words = [tokenize(document.text) for _, document in kept]
    if not any(words):
        raise NothingToRank(f"apart from {without} there is no other problem to search in")
    scores = BM25Okapi(words, k1=bm25.k1, b=bm25.b, epsilon=bm25.epsilon).get_scores(tokenize(query))
    hits = [
        Hit(document.id, index, float(score)) for (index, document), score in zip(kept, scores, strict=True)
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.index))
    return hits[:top]


def _same(title: str) -> str:
    return " ".join(title.casefold().split())
