"""Ranking of candidates by their verifier, and the metric n@k (docs/spec.md 0.1, 3.1)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from math import comb


def n_at_k(candidates: Sequence[tuple[float, bool]], n: int) -> float:
    """Return the probability that the n candidates with the highest scores include an accepted one.

    A candidate is a pair of score and accepted. If a group of equal scores does not fit into n, candidates are drawn
    from it at random (docs/spec.md 0.1, n@k with ties). Raises ValueError for n outside 1 … k.
    """
    if not 1 <= n <= len(candidates):
        raise ValueError(
            f"{n}@{len(candidates)} is not defined: n must be between 1 and the number of candidates"
        )
    left = n
    ordered = sorted(candidates, key=lambda candidate: -candidate[0])
    for _, group in groupby(ordered, key=lambda candidate: candidate[0]):
        accepted = [solved for _, solved in group]
        size, right = len(accepted), sum(accepted)
        if size > left:
            return (comb(size, left) - comb(size - right, left)) / comb(size, left)
        if right:
            return 1.0
        left -= size
        if not left:
            return 0.0
    return 0.0


def by_majority(outputs: Sequence[Hashable]) -> list[int]:
    """Return as each candidate's score the number of candidates with the same output."""
    votes = Counter(outputs)
    return [votes[output] for output in outputs]
