"""Which replies count as generations of code."""

from __future__ import annotations

from functools import lru_cache

from benchmark.extraction import Ended, counts_as_generation
from tutoring.protocols import Rules

# A chain of a run counts its replies twice: when it continues, and when it is recorded.
_counts = lru_cache(maxsize=1024)(counts_as_generation)


def count_reply(text: str, ended: Ended, rules: Rules, *, code_requested: bool) -> tuple[bool, bool]:
    """Return whether the reply counts as a generation, and whether the protocol hides its program from the tutor.

    A program that was not requested does not count if the protocol hides it (docs/spec.md 8.1).
    """
    if not code_requested and rules.unsolicited_code != "count":
        return False, _counts(text, rules.language, Ended.COMPLETE)
    return _counts(text, rules.language, ended), False
