"""Ranking candidates by their verifier, and what submitting the best of them is worth (docs/spec.md 0.1, 3.1)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from math import comb


def n_at_k(candidates: Sequence[tuple[float, bool]], n: int) -> float:
    """The chance that the n candidates of the highest scores hold an accepted one (docs/spec.md 0.1, n@k with ties).

    A candidate is its score and whether it is accepted. Equal scores are taken as a group; of a group that does not
    fit, the candidates that do are drawn at random. Raises ValueError for n outside 1 … k.
    """
    if not 1 <= n <= len(candidates):
        raise ValueError(f"{n}@{len(candidates)} is not defined: n goes from 1 to the number of candidates")
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
    """A score for each candidate: how many candidates answer as it does. Ranks without any oracle."""
    votes = Counter(outputs)
    return [votes[output] for output in outputs]
