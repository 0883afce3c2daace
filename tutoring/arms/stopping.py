"""Stopping rules: which program of a session counts. They are computed from one run afterwards."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

from benchmark.providers.worlds import StoppingRule

RIGHT, PASSES_SAMPLES, WRONG = "A", "S", "W"
"""The letters of `Session.program_outcomes`, one for each program in order."""

STOPPING_RULES: tuple[StoppingRule, ...] = get_args(StoppingRule)


@lru_cache(maxsize=4_096)
def is_solved(rule: StoppingRule, outcomes: str) -> bool:
    """Return whether the program that counts under the rule passes all tests.

    `last`: the last program; `samples`: the first that passes the samples, else the last; `perfect`: any right one.
    """
    match rule:
        case "perfect":
            return RIGHT in outcomes
        case "samples":
            # If no program passes the samples, the last one is wrong.
            return outcomes.lstrip(WRONG).startswith(RIGHT)
        case "last":
            return outcomes.endswith(RIGHT)
