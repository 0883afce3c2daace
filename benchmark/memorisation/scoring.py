"""Scores of completions: overlap with the own rest, beyond that with the rests of other problems."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmark.metrics.text_overlap import MEASURES, words

MOST_OTHERS = 20
"""Other problems that a completion is compared with."""

HEADLINE = "containment"


@dataclass(frozen=True)
class ProblemOrigin:
    """The origin of a problem: other problems from the same place show what agrees by chance."""

    contest: str
    tier: str


def others_of(problem: int, places: Mapping[int, ProblemOrigin], seed: int) -> list[int]:
    """Return up to `MOST_OTHERS` other problems of the same contest, or of the same tier where it has no other.

    A problem without either is compared with any others. More problems than that are drawn with the seed.
    """
    own = places[problem]
    rest = [other for other in places if other != problem]
    same_contest = [one for one in rest if own.contest and places[one].contest == own.contest]
    same_tier = [one for one in rest if own.tier and places[one].tier == own.tier]
    found = same_contest or same_tier or rest
    found.sort(key=lambda one: hashlib.sha256(f"{seed} {problem} {one}".encode()).digest())
    return found[:MOST_OTHERS]


def score(completion: str, rest: str, others: Sequence[str]) -> dict[str, Any]:
    """Return the columns `overlap`, `chance`, `others` and `measures` of a probe."""
    text, own, foreign = words(completion), words(rest), [words(other) for other in others]
    measures = {
        name: {
            "own": measure(text, own),
            "others": fmean(measure(text, other) for other in foreign) if foreign else 0.0,
        }
        for name, measure in MEASURES.items()
    }
    headline = measures[HEADLINE]
    return {
        "overlap": headline["own"],
        "chance": headline["others"],
        "others": len(foreign),
        "measures": measures,
    }
