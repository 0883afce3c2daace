"""Train/test split: some problems are searched in, the others are tested (docs/spec.md 1.3, T3; 7.4)."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable


def training_part(problems: Iterable[tuple[str, str]], size: int, seed: int) -> frozenset[str]:
    """The ids of the `size` problems to search in, given (id, tier) of all, in any order.

    Every tier gives its share, rounded by largest remainders, so that both parts have the mix of the whole. Which
    problems it gives follows from their ids and the seed alone, on any machine. Raises ValueError when no problem
    would be left to test.
    """
    tiers: dict[str, list[str]] = defaultdict(list)
    for identifier, tier in problems:
        tiers[tier].append(identifier)
    total = sum(map(len, tiers.values()))
    if not 0 < size < total:
        raise ValueError(f"train={size} leaves nothing to test: there are {total} problems")
    shares = {tier: size * len(ids) / total for tier, ids in tiers.items()}
    taken = {tier: int(share) for tier, share in shares.items()}
    by_remainder = sorted(shares, key=lambda tier: (taken[tier] - shares[tier], tier))
    for tier in by_remainder[: size - sum(taken.values())]:
        taken[tier] += 1
    return frozenset(
        identifier
        for tier, ids in tiers.items()
        for identifier in sorted(ids, key=lambda one: lot(seed, one))[: taken[tier]]
    )


def lot(seed: int, *names: str) -> bytes:
    """Where something stands in the random order of the seed: its digest, so the same on every machine."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")).digest()
