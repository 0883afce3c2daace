"""Scores of completions: the overlap with the problem's own rest and with the rests of other problems."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmark.metrics.text_overlap import MEASURES, words

MOST_OTHERS = 20
"""Maximum number of other problems with which a completion is compared."""

HEADLINE = "containment"


@dataclass(frozen=True)
class ProblemOrigin:
    """The origin of a problem: other problems of the same origin show how much agrees by chance."""

    contest: str
    tier: str


def others_of(problem: int, places: Mapping[int, ProblemOrigin], seed: int) -> list[int]:
    """Return up to `MOST_OTHERS` other problems of the same contest, or of the same tier if there are none.

    A problem without either is compared with any others. If there are more, the seed decides which are drawn.
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
