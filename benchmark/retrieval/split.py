"""Train/test split: methods search in the training problems and solve the others (docs/spec.md 1.3, T3; 7.4)."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable


def training_part(problems: Iterable[tuple[str, str]], size: int, seed: int) -> frozenset[str]:
    """Return the ids of the `size` training problems, given the (id, tier) of all problems in any order.

    The sample is stratified by tier, with shares rounded by largest remainders. It depends only on the ids and the
    seed, on any machine. Raises ValueError if no problem would be left to test.
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
        for identifier in sorted(ids, key=lambda one: sample_key(seed, one))[: taken[tier]]
    )


def sample_key(seed: int, *names: str) -> bytes:
    """Return a sort key that orders names randomly by the seed. It is a digest, so it is the same on every machine."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")).digest()
