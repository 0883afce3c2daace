"""The figures of effort as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmark.metrics import RatioSet
from benchmark.reports.tables import csv_text
from judge.management.tables import aligned
from tutoring.arms.figures.documents import difference_text, left_out_json, left_out_lines, range_text
from tutoring.effort.figures import EffortFigures, GroupEffort
from tutoring.studies.estimation import Contrast

CSV_COLUMNS = (
    "figure", "name", "tutors", "problems", "sessions", "solved", "estimate", "low", "high", "dollars", "wage",
    "simulated",
)  # fmt: skip

HIDDEN = "fewer than 5 people"


def figures_text(figures: EffortFigures) -> str:
    """Return the figures as tables of text."""
    wage = "unknown" if figures.wage is None else f"{figures.wage:g} US dollars per hour"
    lines = [f"Sessions of people: {figures.text}. Wage: {wage}."]
    lines += [f"Warning: {warning}" for warning in figures.warnings]
    rows = [
        (
            "group",
            "tutors",
            "sessions",
            "solved",
            "minutes",
            "minutes per solved",
            "dollars per solved",
            "rows",
        )
    ]
    for one in figures.groups:
        numbers = (
            (HIDDEN, "", "", "")
            if one.hidden
            else (
                str(one.solved),
                f"{one.minutes:.1f}",
                ratio(one.minutes_per_solved),
                ratio(one.dollars_per_solved),
            )
        )
        rows.append((one.name, str(one.tutors), str(one.sessions), *numbers, one.address))
    lines += ["", *aligned(rows)]
    if figures.plane:
        plane = [("arm", "gain over neutral, points", "dollars a session")]
        plane += [
            (
                one.arm,
                _gain(one.gain),
                "unknown" if one.dollars is None else f"{one.dollars:.2f}",
            )
            for one in figures.plane
        ]
        lines += ["", "Cost plane", *aligned(plane)]
    lines.append("")
    lines += [
        f"Learning, {name} by session: {one.mean:+.3f} ({one.interval.low:+.3f} to {one.interval.high:+.3f}), "
        f"{one.tutors} tutors{f', detectable from {one.detectable:.3f}' if one.not_significant else ''}"
        for name, one in figures.learning
    ] or [f"Learning: {figures.learning_refusal}"]
    return "\n".join([*lines, *left_out_lines(figures.left_out)])


def _gain(one: Contrast) -> str:
    detectable = one.detectable if one.not_significant else None
    return difference_text(one.difference, one.low, one.high, detectable)


def ratio(found: RatioSet | None) -> str:
    """Return a ratio with its 95 % set, or "unknown"."""
    if found is None:
        return "unknown"
    estimate = "none solved" if found.ratio is None else f"{found.ratio:.2f}"
    return f"{estimate} ({range_text(found.ranges, digits=2)})"


def figures_document(figures: EffortFigures) -> dict[str, Any]:
    """Return the figures as a JSON document."""
    return {
        "people": figures.text,
        "wage": figures.wage,
        "simulated": figures.simulated,
        "warnings": list(figures.warnings),
        "measured_until": figures.measured_until.isoformat() if figures.measured_until else None,
        "groups": [_group_json(one) for one in figures.groups],
        "cost_plane": [
            {"arm": one.arm, "gain": one.gain.model_dump(mode="json"), "dollars": one.dollars}
            for one in figures.plane
        ],
        "learning": [
            {
                "outcome": name,
                "slope": one.mean,
                "interval": list(one.interval),
                "detectable": one.detectable,
                "tutors": one.tutors,
                "sessions": one.sessions,
            }
            for name, one in figures.learning
        ],
        "learning_refusal": figures.learning_refusal,
        "left_out": left_out_json(figures.left_out),
    }


def _group_json(one: GroupEffort) -> dict[str, Any]:
    counts = {
        "group": one.name,
        "tutors": one.tutors,
        "sessions": one.sessions,
        "problems": one.problems,
        "rows": one.address,
        "hidden": one.hidden,
    }
    if one.hidden:
        return counts
    return counts | {
        "solved": one.solved,
        "minutes": one.minutes,
        "unknown_messages": one.unknown_messages,
        "minutes_per_solved": _ratio_json(one.minutes_per_solved),
        "model_dollars": one.model_dollars,
        "dollars": one.dollars,
        "dollars_per_solved": _ratio_json(one.dollars_per_solved),
    }


def _ratio_json(found: RatioSet | None) -> dict[str, Any] | None:
    return None if found is None else {"ratio": found.ratio, "set": [list(one) for one in found.ranges]}


def figures_csv(figures: EffortFigures) -> str:
    """Return the figures as CSV: a line for each group and ratio range, arm of the cost plane, and slope."""
    return csv_text(CSV_COLUMNS, _csv_rows(figures))


def _csv_rows(figures: EffortFigures) -> Iterator[dict[str, Any]]:
    common = {"wage": figures.wage, "simulated": int(figures.simulated)}
    for one in figures.groups:
        counts = common | {
            "name": one.name,
            "tutors": one.tutors,
            "problems": one.problems,
            "sessions": one.sessions,
        }
        if one.hidden:
            yield counts | {"figure": f"hidden: {HIDDEN}"}
            continue
        counts |= {"solved": one.solved}
        yield counts | {"figure": "active minutes", "estimate": one.minutes, "dollars": one.dollars}
        for name, found in (("minutes", one.minutes_per_solved), ("dollars", one.dollars_per_solved)):
            for part in found.ranges if found else ():
                estimate = found.ratio if found else None
                yield counts | {
                    "figure": f"{name} per solved", "estimate": estimate, "low": part.low, "high": part.high
                }  # fmt: skip
    for point in figures.plane:
        yield common | {
            "figure": "gain over neutral", "name": point.arm, "problems": point.gain.problems,
            "estimate": point.gain.difference, "low": point.gain.low, "high": point.gain.high, "dollars": point.dollars,
        }  # fmt: skip
    for name, slope in figures.learning:
        yield common | {
            "figure": "learning slope", "name": name, "tutors": slope.tutors, "sessions": slope.sessions,
            "estimate": slope.mean, "low": slope.interval.low, "high": slope.interval.high,
        }  # fmt: skip
