"""The numbers of erased rows in words."""

from __future__ import annotations

from collections.abc import Mapping


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return the counts of a withdrawal as a list, such as "2 sessions, 1 note"."""
    return ", ".join(f"{count} {_noun(name, count)}" for name, count in counts.items())


def _noun(name: str, count: int) -> str:
    """Return the noun for a key of Withdrawal.counts, in the singular for one."""
    noun = name.replace("_", " ")
    if count != 1:
        return noun
    return noun.removesuffix("ies") + "y" if noun.endswith("ies") else noun.removesuffix("s")
