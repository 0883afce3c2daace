"""The flow of a study: every assignment in exactly one terminal box (as in CONSORT 2025)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tutoring.models import Assignment, Study
from tutoring.studies.analysis import StudyData
from tutoring.studies.design import parse_frozen

WAITING = ("planned", "offered", "open")
"""Boxes of assignments that have not ended, in the order of the diagram."""

ANALYSED = "analysed"


@dataclass
class ArmFlow:
    """The numbers of one arm. `boxes` partitions its assignments; the other numbers count passages.

    The boxes are `planned`, `offered`, `open`, `expired`, `excluded: REASON`, `not analysed: REASON` and `analysed`.
    """

    arm: str
    kind: str
    assigned: int = 0
    """Assignments, replacements included."""
    replacements: int = 0
    offered: int = 0
    started: int = 0
    completed: int = 0
    """Sessions that have ended."""
    boxes: Counter[str] = field(default_factory=Counter)

    @property
    def expired(self) -> int:
        """Return the number of expired assignments."""
        return self.boxes["expired"]

    @property
    def excluded(self) -> dict[str, int]:
        """Return the number of excluded assignments by reason."""
        return self._reasons("excluded: ")

    @property
    def not_analysed(self) -> dict[str, int]:
        """Return the number of ended sessions without a known outcome by reason."""
        return self._reasons("not analysed: ")

    def _reasons(self, prefix: str) -> dict[str, int]:
        return {
            name.removeprefix(prefix): number
            for name, number in sorted(self.boxes.items())
            if name.startswith(prefix)
        }


@dataclass(frozen=True)
class Flow:
    """The flow of a study: problems considered and eligible, then the assignments of each arm."""

    considered: int
    left_out: dict[str, int]
    eligible: int
    assigned: int
    arms: list[ArmFlow]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as JSON values."""
        arms = [
            {
                "arm": one.arm,
                "kind": one.kind,
                "assigned": one.assigned,
                "replacements": one.replacements,
                "offered": one.offered,
                "started": one.started,
                "completed": one.completed,
                "boxes": dict(sorted(one.boxes.items())),
            }
            for one in self.arms
        ]
        return {
            "considered": self.considered,
            "left_out": self.left_out,
            "eligible": self.eligible,
            "assigned": self.assigned,
            "arms": arms,
        }


def study_flow(study: Study, data: StudyData | None = None) -> Flow:
    """Return the flow of a frozen study. It shows no outcome, so it is never locked."""
    data = data or StudyData.of(study)
    frozen = parse_frozen(study.design)
    arms = {arm.name: ArmFlow(arm.name, arm.kind) for arm in frozen.design.arms}
    for row in data.rows:
        flow = arms[row.arm.name]
        flow.assigned += 1
        flow.replacements += row.replaces_id is not None
        flow.offered += row.offered_at is not None
        flow.started += row.opened_at is not None or row.work_item_id is not None
        flow.completed += row.state == Assignment.State.DONE
        flow.boxes[terminal_box(row, data)] += 1
    return Flow(
        considered=frozen.considered,
        left_out=frozen.left_out,
        eligible=len(frozen.problems),
        assigned=len(data.rows),
        arms=list(arms.values()),
    )


def terminal_box(row: Assignment, data: StudyData) -> str:
    """Return the box of the assignment: each is in exactly one."""
    if row.state == Assignment.State.EXCLUDED:
        return f"excluded: {row.reason}"
    if row.state != Assignment.State.DONE:
        return str(row.state)
    if data.value(row) is not None:
        return ANALYSED
    return f"not analysed: {data.outcomes[row.pk].unknown}"
