"""A pilot: a few problems of a run first, so that the estimate for all of them rests on real replies."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.models import Problem

PILOT_SEED = 307


@dataclass(frozen=True)
class Pilot:
    """Which problems were chosen of how many, and with which seed."""

    problems: tuple[str, ...]
    of_problems: int
    attempts: int
    seed: int = PILOT_SEED

    def to_json(self) -> dict[str, Any]:
        """For the manifest of the run."""
        return asdict(self)


def choose_pilot(problems: Sequence[Problem], count: int, attempts: int) -> Pilot:
    """So many problems, drawn with a fixed seed from all tiers in their proportions."""
    chance = random.Random(PILOT_SEED)  # noqa: S311  (a sample, not a secret)
    shuffled = sorted(problems, key=lambda problem: (problem.tier, chance.random()))
    count = min(count, len(shuffled))
    chosen = [shuffled[int((place + 0.5) * len(shuffled) / count)] for place in range(count)]
    return Pilot(tuple(sorted(problem.external_id for problem in chosen)), len(problems), attempts)
