"""Named engines that compute the same scores. Every result records the name of its engine."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from benchmark.retrieval.index import Bm25Index
from benchmark.retrieval.reference_bm25 import ReferenceIndex


class Engine(Protocol):
    """An index of documents that supports searches with excluded documents."""

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
        """Return the indices and scores of the `top` best documents, best first, ties by index."""
        ...


ENGINES: dict[str, Callable[[Iterable[Sequence[str]]], Engine]] = {
    "index": Bm25Index,
    "rank_bm25": ReferenceIndex,
}
