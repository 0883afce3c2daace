"""Rankings with ties: expected figures over random orders of the tied options."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Placing:
    """The first and last rank, from 1, that the right option can have in random orders of tied options."""

    first: int
    last: int

    @classmethod
    def of(cls, scores: Sequence[float], right: int) -> "Placing":
        """Return the placing of the option at the index `right`."""
        own = scores[right]
        return cls(1 + sum(score > own for score in scores), sum(score >= own for score in scores))

    @property
    def tied(self) -> bool:
        """Return whether other options have the same score."""
        return self.first != self.last

    @property
    def accuracy(self) -> Fraction:
        """Return the chance that the right option has the first rank."""
        return Fraction(1, self.last) if self.first == 1 else Fraction(0)

    @property
    def reciprocal_rank(self) -> Fraction:
        """Return the mean of 1/rank over the ranks."""
        ranks = range(self.first, self.last + 1)
        return sum((Fraction(1, rank) for rank in ranks), Fraction(0)) / len(ranks)


def tied_best(scores: Sequence[float]) -> list[int]:
    """Return the indices of the options with the highest score."""
    best = max(scores)
    return [place for place, score in enumerate(scores) if score == best]
