"""What a program may use, and the two policies for applying a problem's limits to a language."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from judge.languages import get_language

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of one run: CPU seconds, bytes of memory, bytes of standard output.

    Raises ValueError for a limit that is not a positive finite number.
    """

    time: float
    memory: int
    output: int = 64 * MEBIBYTE

    @property
    def wall(self) -> float:
        """The guard in real seconds: it ends programs that wait, and leaves room for a machine at work."""
        return 3 * self.time + 2

    def __post_init__(self) -> None:
        for name, value in (("time", self.time), ("memory", self.memory), ("output", self.output)):
            if not math.isfinite(value) or value <= 0:
                raise ValueError(f"the {name} limit must be a positive number, not {value!r}")


class Policy(StrEnum):
    """FAIR allows a slow language more time; COMPAT applies the given limit to all, as published judges do."""

    FAIR = "fair"
    COMPAT = "compat"


def limits_for(
    limits: Limits, language: str, policy: Policy, time_multipliers: Mapping[str, float] | None = None
) -> Limits:
    """The limits a program in this language gets under this policy. Raises UnknownLanguage.

    `time_multipliers` replace those of the table for the languages they name. What a virtual machine needs for
    itself comes on top of the problem's memory under either policy: no choice of the programmer's uses it up.
    """
    row = get_language(language)
    multiplier = (time_multipliers or {}).get(language, row.time_multiplier) if policy is Policy.FAIR else 1.0
    return replace(limits, time=limits.time * multiplier, memory=limits.memory + row.allowance)
