"""The level cap of a protocol: warnings in the draft check, and findings by the reviewers' levels.

A warning compares the level that the tutor intends, and what the detectors find, with the cap. Only the levels that
reviewers settle decide whether a message breaks the cap.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutoring.models import Event, Finding, ReviewOutcome, Session
from tutoring.protocols import Rules
from tutoring.rules import Detection

LEVEL_CAP = "cap"
"""Value of `Detection.clause` and `Finding.clause` for a message above the level cap."""

LEVEL_CAP_TITLE = "Above the level cap"

INTENDED_LEVEL, SETTLED_LEVEL, VERSION = "intended-level", "settled-level", 1
"""Names and version of the warnings and of the findings, stored as their detectors."""

_ANSWERS = frozenset({"F1", "F2", "F3"})
"""Clauses whose passages are of the codebook's highest level: the algorithm, the replacement or the explanation."""

_INTENDED_WEIGHT = 0.6
"""Weight of a warning by the intended level. Tutors and reviewers often differ by a level."""


def cap_warnings(
    rules: Rules, text: str, detections: Sequence[Detection], intended_level: int | None
) -> list[Detection]:
    """Return a warning for the intended level, if it is above the cap, and one for each passage of the highest level.

    Empty without a cap.
    """
    cap = rules.capped_level
    if cap is None:
        return []
    allowed = f"The protocol allows level {cap.level} ({cap.title.lower()}) at most."
    highest = rules.help_levels[-1]
    found = []
    if intended_level is not None and intended_level > cap.level and text.strip():
        explanation = f"You chose level {intended_level}. {allowed}"
        found.append(
            Detection(LEVEL_CAP, 0, len(text), explanation, _INTENDED_WEIGHT, INTENDED_LEVEL, VERSION)
        )
    if cap.level < highest.level:
        explanation = f"This may be level {highest.level} ({highest.title.lower()}). {allowed}"
        found += [
            Detection(LEVEL_CAP, one.start, one.end, explanation, one.weight, one.detector, one.version)
            for one in detections
            if one.clause in _ANSWERS and one.severity == "warning"
        ]
    return found


def levels_above_cap(session: Session, rules: Rules | None, version: int) -> dict[int, int]:
    """Return the number and the settled level of each message above the cap, by the reviews under a rule set.

    Empty without a cap or while the reviews are not decided.
    """
    if rules is None or rules.level_cap is None:
        return {}
    outcome = ReviewOutcome.objects.filter(session=session, rule_set=version).exclude(verdict="").first()
    levels = outcome.decided_levels if outcome else {}
    return {seq: level for seq, level in levels.items() if level > rules.level_cap}


def cap_findings(events: Sequence[Event], levels: dict[int, int], cap: int | None) -> list[Finding]:
    """Return an unsaved finding for each of these messages above the cap."""
    return [
        Finding(
            event=event,
            clause=LEVEL_CAP,
            detector=SETTLED_LEVEL,
            version=VERSION,
            start=0,
            end=0,
            explanation=f"reviewers settled level {levels[event.seq]}, the protocol allows {cap}",
            weight=1.0,
            counts={"found": levels[event.seq], "allowed": cap},
        )
        for event in events
        if event.seq in levels
    ]
