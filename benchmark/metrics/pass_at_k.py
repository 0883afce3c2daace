"""The unbiased pass@k estimator (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1)
and Tests@k, the same idea for the share of tests passed (docs/spec.md 0.1)."""

from collections.abc import Iterable, Sequence
from math import comb


class TooFewAttemptsError(ValueError):
    """A problem with fewer than k attempts, for which pass@k is not defined."""


def pass_at_k(attempts: int, solved: int, k: int) -> float:
    """Return the chance that k attempts, drawn without replacement, contain one that solves the problem.

    This is 1 - C(n-c, k) / C(n, k), computed in integers and rounded once. Raises TooFewAttemptsError for k > n, and
    ValueError for impossible counts.
    """
    if not 0 <= solved <= attempts:
        raise ValueError(f"{solved} solved of {attempts} attempts is impossible")
    _check(attempts, k, "pass")
    drawn = comb(attempts, k)
    return (drawn - comb(attempts - solved, k)) / drawn


def mean_pass_at_k(problems: Iterable[tuple[int, int]], k: int) -> float:
    """Return the mean of `pass_at_k` over problems given as (attempts, solved). Raises ValueError without problems."""
    values = [pass_at_k(attempts, solved, k) for attempts, solved in problems]
    if not values:
        raise ValueError("the mean over no problems is not defined")
    return sum(values) / len(values)


def share_at_k(shares: Sequence[float], k: int) -> float:
    """Return the expected largest share of tests passed among k attempts drawn without replacement.

    For shares of 0 and 1 this is pass@k, for k = n the largest share. Raises TooFewAttemptsError for k > n.
    """
    n = len(shares)
    _check(n, k, "tests")
    weighted = sum(share * comb(place, k - 1) for place, share in enumerate(sorted(shares)))
    return weighted / comb(n, k)


def _check(attempts: int, k: int, name: str) -> None:
    if k < 1:
        raise ValueError(f"{name}@{k} is not defined: k starts at 1")
    if k > attempts:
        raise TooFewAttemptsError(f"{name}@{k} needs at least {k} attempts per problem; there are {attempts}")
