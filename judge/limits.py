"""What a program may use, and the two policies for applying a problem's limits to a language."""

import math
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


def limits_for(limits: Limits, language: str, policy: Policy) -> Limits:
    """The limits a program in this language gets under this policy. Raises UnknownLanguage."""
    if policy is Policy.COMPAT:
        return limits
    return replace(limits, time=limits.time * get_language(language).time_multiplier)
