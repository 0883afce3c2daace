"""What a detector gets and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

TutorMaySay = Literal["nothing", "right_or_wrong", "samples"]
"""What a tutor may say of a verdict before the session ends: nothing, whether a program is right, or also which samples
it passes."""

Severity = Literal["notice", "warning"]

WARNING = 0.5
"""Weight from which a detection is a warning; below it is a notice."""

BLOCKING = 0.8
"""Weight from which a draft is refused by a protocol that blocks, in the clauses that it may block."""

BLOCKING_CLAUSES = frozenset({"F2", "F4"})


def severity(weight: float) -> Severity:
    """How a finding of that weight is shown."""
    return "warning" if weight >= WARNING else "notice"


@dataclass(frozen=True)
class MessageContext:
    """All that a message is compared with. Texts that are unknown are empty.

    `hidden_tokens` is None for a draft: a tutor must not learn from a warning what stands in hidden tests.
    """

    statement: str = ""
    """The statement with its samples, and the prompt the model got."""
    analysis: str = ""
    references: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    """The model's replies before the message, oldest first."""
    programs: tuple[str, ...] = ()
    """The programs in those replies."""
    tutor_may_say: TutorMaySay = "right_or_wrong"
    hidden_tokens: frozenset[str] | None = None


@dataclass(frozen=True)
class Detection:
    """A place in a message that may break a clause. `text[start:end]` is the place, never empty.

    `weight` (0 to 1) says how sure the detector is that a reviewer would agree.
    """

    clause: str
    start: int
    end: int
    explanation: str
    weight: float
    detector: str = ""
    version: int = 0

    @property
    def severity(self) -> Severity:
        return severity(self.weight)

    @property
    def blocking(self) -> bool:
        """Whether a protocol that blocks refuses the message for it."""
        return self.clause in BLOCKING_CLAUSES and self.weight >= BLOCKING

    def to_json(self) -> dict[str, Any]:
        return {
            "clause": self.clause,
            "start": self.start,
            "end": self.end,
            "explanation": self.explanation,
            "weight": self.weight,
            "detector": self.detector,
            "version": self.version,
        }


@dataclass(frozen=True)
class Detector:
    """A deterministic function of a message and its context; a change of what it finds raises `version`."""

    name: str
    version: int
    clauses: tuple[str, ...]
    """The clauses it can name."""
    find: Callable[[str, MessageContext], list[Detection]] = field(repr=False)
