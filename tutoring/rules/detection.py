"""The interface of a detector: the context of a message, a detection, and the detector itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

TutorMaySay = Literal["nothing", "right_or_wrong", "samples"]
"""What a tutor may say about a verdict before the session ends: nothing, whether a program is right, or also which
samples it passes."""

Severity = Literal["notice", "warning"]

WARNING = 0.5
"""Lowest weight of a warning. A detection with a lower weight is a notice."""

BLOCKING = 0.8
"""Lowest weight at which a protocol with a blocking check refuses a draft for one of BLOCKING_CLAUSES."""

BLOCKING_CLAUSES = frozenset({"F2", "F4"})


def severity(weight: float) -> Severity:
    """Return whether a finding of that weight is shown as a warning or a notice."""
    return "warning" if weight >= WARNING else "notice"


@dataclass(frozen=True)
class MessageContext:
    """The texts with which detectors compare a message. An unknown text is empty.

    `hidden_tokens` is None for a draft, because a warning must not reveal the content of hidden tests.
    """

    statement: str = ""
    """The statement with its samples, and the prompt that the model received."""
    analysis: str = ""
    references: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    """The model's replies before the message, oldest first."""
    programs: tuple[str, ...] = ()
    """The programs in those replies."""
    tutor_may_say: TutorMaySay = "right_or_wrong"
    hidden_tokens: frozenset[str] | None = None

    def after_program(self, code: str, language: str = "", words: str = "") -> MessageContext:
        """Return the context after a reply of the model that consists of these words and the program."""
        reply = f"{words}\n\n```{language}\n{code}\n```\n"
        return replace(self, replies=(*self.replies, reply), programs=(*self.programs, code))


@dataclass(frozen=True)
class Detection:
    """A passage of a message that may break a clause: `text[start:end]`, never empty.

    `weight` (0 to 1) is the detector's confidence that a reviewer would agree. `detect` fills in `detector` and
    `version`.
    """

    clause: str
    start: int
    end: int
    explanation: str
    weight: float
    detector: str = ""
    version: int = 0
    certain: bool = False
    """Whether the detection is reported even if the text model does not suspect the message."""

    @property
    def severity(self) -> Severity:
        """Return `warning` or `notice`."""
        return severity(self.weight)

    @property
    def blocking(self) -> bool:
        """Return whether a protocol with a blocking check refuses the message for this detection."""
        return self.clause in BLOCKING_CLAUSES and self.weight >= BLOCKING

    def to_json(self) -> dict[str, Any]:
        """Return the detection as a message's event records it."""
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
    """A deterministic function that finds passages of a message that may break a clause.

    Increase `version` with every change of the passages, clauses or weights that it finds: recorded sessions are then
    checked again.
    """

    name: str
    """At most 40 characters, unique."""
    version: int
    clauses: tuple[str, ...]
    """The clauses that the detector can report."""
    finds: str
    """What the detector finds, for the table in docs/codebook.md."""
    ignores: str
    """What the detector ignores on purpose, for the same table."""
    find: Callable[[str, MessageContext], list[Detection]] = field(repr=False)


@lru_cache(maxsize=64)
def findings(detector: Detector, text: str, context: MessageContext) -> tuple[Detection, ...]:
    """Return what the detector finds, with its name and version.

    The result is cached, because the text model uses the findings of the other detectors.
    """
    return tuple(
        replace(detection, detector=detector.name, version=detector.version)
        for detection in detector.find(text, context)
    )
