"""Pilots: runs of a few problems, whose replies give an estimate for all problems."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.models import Problem

PILOT_SEED = 307


@dataclass(frozen=True)
class Pilot:
    """The problems of a pilot, the number they were drawn from, and the seed."""

    problems: tuple[str, ...]
    of_problems: int
    attempts: int
    seed: int = PILOT_SEED

    def to_json(self) -> dict[str, Any]:
        """Return the fields for the manifest of the run."""
        return asdict(self)


def choose_pilot(problems: Sequence[Problem], count: int, attempts: int) -> Pilot:
    """Return a pilot of `count` problems, drawn with a fixed seed in proportion from all tiers."""
    chance = random.Random(PILOT_SEED)  # noqa: S311  (a sample, not a secret)
    shuffled = sorted(problems, key=lambda problem: (problem.tier, chance.random()))
    count = min(count, len(shuffled))
    chosen = [shuffled[int((index + 0.5) * len(shuffled) / count)] for index in range(count)]
    return Pilot(tuple(sorted(problem.external_id for problem in chosen)), len(problems), attempts)
