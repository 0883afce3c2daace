"""The unbiased pass@k estimator (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1)."""

from collections.abc import Iterable
from math import comb


class TooFewAttempts(ValueError):
    """pass@k was asked for a problem with fewer than k attempts: it is not defined there."""


def pass_at_k(attempts: int, solved: int, k: int) -> float:
    """The chance that k attempts, drawn from these without replacement, hold one that solved the problem.

    1 - C(n-c, k) / C(n, k), computed in integers and rounded once. Raises `TooFewAttempts` for k > n.
    """
    if k < 1:
        raise ValueError(f"pass@{k} means nothing: k starts at 1")
    if not 0 <= solved <= attempts:
        raise ValueError(f"{solved} solved of {attempts} attempts cannot be")
    if k > attempts:
        raise TooFewAttempts(f"pass@{k} needs at least {k} attempts a problem; there are {attempts}")
    drawn = comb(attempts, k)
    return (drawn - comb(attempts - solved, k)) / drawn


def mean_pass_at_k(problems: Iterable[tuple[int, int]], k: int) -> float:
    """The mean of `pass_at_k` over problems given as (attempts, solved); raises ValueError without problems."""
    values = [pass_at_k(attempts, solved, k) for attempts, solved in problems]
    if not values:
        raise ValueError("the mean over no problems is not defined")
    return sum(values) / len(values)
