"""Named ways to compute the same scores; the name is recorded with every result."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from benchmark.retrieval.index import Bm25Index
from benchmark.retrieval.reference_bm25 import RebuiltIndex


class Engine(Protocol):
    """An index of documents that can be searched without some of them."""

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
        """The places and scores of the `top` best documents, best first, equal ones in their order."""
        ...


ENGINES: dict[str, Callable[[Iterable[Sequence[str]]], Engine]] = {
    "index": Bm25Index,
    "rank_bm25": RebuiltIndex,
}
