"""Monotone regression by the pool-adjacent-violators algorithm."""

from collections.abc import Sequence


def monotone(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the non-decreasing values with the least weighted squared distance from `values`.

    Barlow, Bartholomew, Bremner and Brunk 1972, "Statistical inference under order restrictions". Raises ValueError for
    different lengths or a weight that is not positive.
    """
    if len(values) != len(weights) or any(weight <= 0 for weight in weights):
        raise ValueError("each value needs a positive weight")
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of values
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, total, number = pools.pop()
            both = total + pool[1]
            pool = ((mean * total + pool[0] * pool[1]) / both, both, number + pool[2])
        pools.append(pool)
    return [mean for mean, _, number in pools for _ in range(number)]
