"""The published procedure for excluding documents: rank_bm25 on an index rebuilt for every query."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from benchmark.retrieval.index import Floats, NothingToRankError


class ReferenceIndex:
    """The reference for `Bm25Index`, whose scores are equal to the last bit at a hundredth of the cost."""

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        self._documents = list(documents)

    def scores(
        self, query: Iterable[str], *, k1: float, b: float, epsilon: float, excluded: Collection[int] = ()
    ) -> Floats:
        """Return the scores of the documents that are not excluded. Raises NothingToRankError."""
        kept = [document for index, document in enumerate(self._documents) if index not in excluded]
        if not any(kept):
            raise NothingToRankError("no document with words is left to search in")
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
        excluded: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """Return the indices and scores of the `top` best documents, ties by index (rank_bm25 defines no order).

        Raises ValueError for a formula other than okapi, which rank_bm25 does not compute.
        """
        if formula != "okapi":
            raise ValueError(f"the engine rank_bm25 computes only okapi, not {formula}")
        scores = self.scores(query, k1=k1, b=b, epsilon=epsilon, excluded=excluded)
        kept = [index for index in range(len(self._documents)) if index not in excluded]
        order = np.argsort(-scores, kind="stable")[:top]
        return [(kept[position], float(scores[position])) for position in order]
