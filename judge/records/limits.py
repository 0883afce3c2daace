"""Resource limits of one run, and the two policies that apply a problem's limits to a language."""

import math
from dataclasses import dataclass
from enum import StrEnum

MEBIBYTE = 2**20
IDLE_GRACE = 1.0
"""Idle seconds beyond the time limit: short waits, for example for a system file, are not a fault of a program."""

NEAR_LIMIT = 0.1
"""Share of the time limit. A time that differs by at most this share is near the limit: chance may decide the verdict.

Runs that exceed the limit are repeated with this much more time (`judge.execution.TimedRunner`).
"""


@dataclass(frozen=True)
class Limits:
    """Limits of one run: CPU seconds, bytes of memory, bytes of standard output.

    Raises ValueError for a limit that is not a positive finite number.
    """

    time: float
    memory: int
    output: int = 64 * MEBIBYTE

    @property
    def idle(self) -> float:
        """Idle seconds after which a run is stopped (docs/judge.md explains idle time)."""
        return self.time + IDLE_GRACE

    @property
    def wall(self) -> float:
        """Real seconds after which a run without a decision is given up, because the machine is overloaded."""
        return 30 * self.time + 60

    def __post_init__(self) -> None:
        for name, value in (("time", self.time), ("memory", self.memory), ("output", self.output)):
            if not math.isfinite(value) or value <= 0:
                raise ValueError(f"the {name} limit must be a positive number, not {value!r}")


class Policy(StrEnum):
    """A rule that applies a problem's time limit to a language.

    FAIR stands for scaled limits: the time limit is multiplied by the factor of the language and by the time factor
    of the machine. COMPAT stands for published limits: the same time limit for every language and machine, as published
    judges apply it.
    """

    FAIR = "fair"
    COMPAT = "compat"
