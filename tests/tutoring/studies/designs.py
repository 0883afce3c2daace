"""Designs of studies without a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutoring.studies.design import FrozenDesign, FrozenProblem, SeenBefore, parse_design

TIERS = ("bronze", "silver")


def design_data(**changes: Any) -> dict[str, Any]:
    """Return the JSON values of a valid design with two human arms, with some fields changed."""
    arms = [
        {"kind": "human", "name": f"arm-{number}", "protocol": "usaco-2024@1", "model": "m@1"}
        for number in range(2)
    ]
    return {
        "name": "hints",
        "title": "Do hints help?",
        "questions": ["Do hints help?"],
        "arms": arms,
        "problems": {"dataset": "bank"},
        "tutors": ["alice", "bob"],
        "primary_outcome": "solved",
        "primary_contrast": ["arm-0", "arm-1"],
    } | changes


def frozen_design(
    problems: int,
    *,
    arms: int = 2,
    tutors: int = 4,
    sessions_per_cell: int = 1,
    draws: int = 0,
    tiers: Sequence[str] = TIERS,
    **changes: Any,
) -> FrozenDesign:
    """Return a frozen design with this number of problems, human arms and tutors, and an automatic arm with draws."""
    listed: list[dict[str, Any]] = [
        {"kind": "human", "name": f"arm-{number}", "protocol": "usaco-2024@1", "model": "m@1"}
        for number in range(arms)
    ]
    if draws or arms == 1:
        listed.append(
            {
                "kind": "automatic",
                "name": "neutral",
                "method": "zero-shot",
                "model": "m@1",
                "draws": draws or 1,
            }
        )
    design = parse_design(
        design_data(
            arms=listed,
            tutors=[f"person-{number}" for number in range(tutors)],
            sessions_per_cell=sessions_per_cell,
            primary_contrast=[listed[0]["name"], listed[1]["name"]],
        )
        | changes
    )
    found = tuple(
        FrozenProblem(problem=f"bank/p{number}", content_hash="0" * 64, tier=tiers[number % len(tiers)])
        for number in range(problems)
    )
    return FrozenDesign(
        version=1,
        design=design,
        considered=problems,
        left_out={},
        problems=found,
        protocols={"usaco-2024@1": "0" * 64},
        models={"m@1": "0" * 64},
        ineligible=(),
        seen=SeenBefore(sessions=0, sessions_of_tutors=0, chains=0),
        gate=(),
    )
