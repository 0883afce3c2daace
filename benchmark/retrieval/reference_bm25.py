"""The published way to leave documents out: rank_bm25 on an index built anew for every query."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from benchmark.retrieval.index import Floats, NothingToRank


class RebuiltIndex:
    """The reference that `Bm25Index` equals to the last bit, at a hundred times its cost."""

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        self._documents = list(documents)

    def scores(
        self, query: Iterable[str], *, k1: float, b: float, epsilon: float, left_out: Collection[int] = ()
    ) -> Floats:
        """The scores of the documents that are not left out. Raises NothingToRank."""
        kept = [document for place, document in enumerate(self._documents) if place not in left_out]
        if not any(kept):
            raise NothingToRank("no document with words is left to search in")
        scores: Floats = BM25Okapi(kept, k1=k1, b=b, epsilon=epsilon).get_scores(query)
        return scores

    def best(
        self,
        query: Iterable[str],
        top: int,
        *,
        k1: float,
        b: float,
        epsilon: float,
        formula: str = "okapi",
        left_out: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """The places and scores of the `top` best, equal ones in their order (rank_bm25 defines none).

        `formula` is okapi: `Bm25` refuses others with this engine.
        """
        scores = self.scores(query, k1=k1, b=b, epsilon=epsilon, left_out=left_out)
        places = [place for place in range(len(self._documents)) if place not in left_out]
        order = np.argsort(-scores, kind="stable")[:top]
        return [(places[number], float(scores[number])) for number in order]
