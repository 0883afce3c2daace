"""The figures of automatic tutors as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.reports.tables import csv_text
from judge.management.tables import aligned
from tutoring.arms.figures.contrasts import Contrast, Rate
from tutoring.arms.figures.documents import (
    contrast_json,
    difference_text,
    left_out_json,
    left_out_lines,
    rate_json,
)
from tutoring.automatic_tutors.estimation import BlindingIndex
from tutoring.automatic_tutors.figures import GainMatrix, GuardCounts, MeasuredLeaks, TutorArm, TutorFigures
from tutoring.models.payloads import GUARD_DECISIONS

CSV_COLUMNS = (
    "tutor", "student", "figure", "estimate", "low", "high", "method", "problems", "simulated", "run", "rows",
)  # fmt: skip


def figures_text(figures: TutorFigures) -> str:
    """Return the figures as tables of text, with the addresses of the rows behind them."""
    lines = [f"Sessions of people: {figures.text}. Stopping rule of gains: {figures.rule}."]
    lines += [f"Warning: {warning}" for warning in figures.warnings]
    rows = [
        (
            "student",
            "tutor",
            "solved",
            "gain over neutral",
            "people − tutor",
            "leak index",
            "breaches",
            "blinding",
            "rows",
        )
    ]
    rows += [
        (
            arm.student,
            arm.name,
            _rate(arm.solved),
            _difference(arm.gain),
            _difference(arm.people_minus),
            leaks_text(arm.leaks),
            _rate(arm.breach),
            blinding_text(arm.blinding),
            arm.address,
        )
        for arm in figures.arms
    ]
    lines += ["", *aligned(rows)]
    for student, limit in figures.yardsticks:
        shown = (
            "unknown, fewer than 20 compliant sessions" if limit is None else f"{100 * limit:+z.0f} points"
        )
        lines.append(f"Yardstick of {student}, 95th percentile of compliant sessions of people: {shown}")
    guards = [
        ("tutor", "turns", "drafts", "refused drafts by clause", "levels sent", "dollars student + tutor")
    ]
    guards += [
        (
            f"{arm.name} → {arm.student}",
            decisions_text(arm.guard),
            str(arm.guard.drafts),
            counts_text(arm.guard.refusals),
            counts_text(arm.guard.levels),
            f"{_dollars(arm.student_dollars)} + {_dollars(arm.tutor_dollars)}",
        )
        for arm in figures.arms
        if arm.guard
    ]
    lines += ["", "Guard and money", *aligned(guards)]
    lines += ["", "Gain by student and tutor, points", *_matrix(figures.matrix)]
    return "\n".join([*lines, *left_out_lines(figures.left_out)])


def decisions_text(guard: GuardCounts) -> str:
    """Return the numbers of turns by the guard's decision in words."""
    return ", ".join(f"{GUARD_DECISIONS[name]}: {count}" for name, count in guard.decisions.items()) or "none"


def counts_text(counts: Mapping[Any, int]) -> str:
    """Return counts as "F1 12, code 3"; "none" without any."""
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def blinding_text(found: BlindingIndex | None) -> str:
    """Return the blinding index with its interval and the number of answers, or "no answer"."""
    if found is None:
        return "no answer"
    low, high = found.interval.interval
    return f"{found.index:+z.2f} ({low:+z.2f} to {high:+z.2f}), {found.answers} answers"


def leaks_text(found: MeasuredLeaks | None) -> str:
    """Return the leak index in points with its interval, and whether the tutor gives away more than people do."""
    if found is None:
        return "unknown"
    low, high = found.index.interval.interval
    text = f"{100 * found.index.mean:+z.0f} ({100 * low:+z.0f} to {100 * high:+z.0f})"
    return f"{text}, gives away more than people do" if found.above and found.above.gives_away else text


def _difference(one: Contrast | None) -> str:
    if one is None:
        return "unknown"
    detectable = one.detectable if one.not_significant else None
    return difference_text(one.difference.mean, *one.difference.interval, detectable)


def _rate(one: Rate | None) -> str:
    if one is None or one.share is None or one.interval is None:
        return "unknown"
    low, high = one.interval.interval
    name = INTERVAL_NAMES[one.interval.method]
    return f"{100 * one.share:z.0f} % ({100 * low:z.0f} to {100 * high:z.0f}, {name}), {one.solved} of {one.sessions}"


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _matrix(matrix: GainMatrix) -> list[str]:
    rows = [("student", *matrix.tutors)]
    for student, cells in zip(matrix.students, matrix.cells, strict=True):
        rows.append((student, *(_difference(arm.gain) if arm else "–" for arm in cells)))
    lines = aligned(rows)
    if parts := matrix.parts:
        rest = max(abs(value) for row in parts.rest for value in row)
        lines.append(f"Additive parts: mean {100 * parts.mean:+z.0f}; largest rest {100 * rest:z.0f} points")
        for names, effects in ((matrix.students, parts.students), (matrix.tutors, parts.tutors)):
            named = zip(names, effects, strict=True)
            lines.append("  " + "; ".join(f"{name} {100 * effect:+z.0f}" for name, effect in named))
    return lines


def figures_document(figures: TutorFigures) -> dict[str, Any]:
    """Return the figures as a JSON document."""
    matrix = figures.matrix
    return {
        "people": figures.text,
        "rule": figures.rule,
        "simulated": figures.simulated,
        "warnings": list(figures.warnings),
        "tutors": [_arm_json(arm) for arm in figures.arms],
        "yardsticks": dict(figures.yardsticks),
        "matrix": {
            "students": list(matrix.students),
            "tutors": list(matrix.tutors),
            "gains": [
                [arm.gain.difference.mean if arm and arm.gain else None for arm in row]
                for row in matrix.cells
            ],
            "parts": None
            if matrix.parts is None
            else {
                "mean": matrix.parts.mean,
                "students": list(matrix.parts.students),
                "tutors": list(matrix.parts.tutors),
                "rest": [list(row) for row in matrix.parts.rest],
            },
        },
        "left_out": left_out_json(figures.left_out),
    }


def figures_csv(figures: TutorFigures) -> str:
    """Return the figures as CSV: a line for each figure of each tutor and student, rates and gains as shares."""
    return csv_text(CSV_COLUMNS, (row for arm in figures.arms for row in _csv_rows(arm)))


def _csv_rows(arm: TutorArm) -> Iterator[dict[str, Any]]:
    about = {
        "tutor": arm.name, "student": arm.student, "run": str(arm.run.pk) if arm.run else "", "rows": arm.address,
        "simulated": int(arm.simulated),
    }  # fmt: skip
    for row in (*_estimates(arm), *_amounts(arm)):
        yield about | row


def _estimates(arm: TutorArm) -> Iterator[dict[str, Any]]:
    for name, rate in (("solved", arm.solved), ("breach rate", arm.breach)):
        if rate is not None and rate.share is not None:
            yield {"figure": name, "estimate": rate.share, "problems": rate.problems} | _ends(rate.interval)
    for name, one in (("gain over neutral", arm.gain), ("people minus tutor", arm.people_minus)):
        if one is not None:
            found = {"figure": name, "estimate": one.difference.mean, "problems": one.problems}
            yield found | _ends(one.difference)
    if arm.leaks is not None:
        index = arm.leaks.index
        found = {"figure": "leak index", "estimate": index.mean, "problems": index.problems}
        yield found | _ends(index.interval)
    if arm.blinding is not None:
        yield {"figure": "blinding index", "estimate": arm.blinding.index} | _ends(arm.blinding.interval)


def _amounts(arm: TutorArm) -> Iterator[dict[str, Any]]:
    for name, dollars in (("student dollars", arm.student_dollars), ("tutor dollars", arm.tutor_dollars)):
        yield {"figure": name, "estimate": dollars}
    if arm.guard is not None:
        for kind, counts in (("turns", arm.guard.decisions), ("refused drafts", arm.guard.refusals)):
            for name, count in counts.items():
                yield {"figure": f"{kind}: {name}", "estimate": count}


def _ends(found: Any) -> dict[str, Any]:
    return (
        {} if found is None else {"low": found.interval[0], "high": found.interval[1], "method": found.method}
    )


def _arm_json(arm: TutorArm) -> dict[str, Any]:
    return {
        "tutor": arm.name,
        "student": arm.student,
        "run": str(arm.run.pk) if arm.run else None,
        "knows": None if arm.is_people else arm.knows,
        "cap": arm.cap,
        "guarded": None if arm.is_people else arm.guarded,
        "simulated": arm.simulated,
        "rows": arm.address,
        "solved": rate_json(arm.solved),
        "gain": contrast_json(arm.gain) if arm.gain else None,
        "people_minus_tutor": contrast_json(arm.people_minus) if arm.people_minus else None,
        "breach": rate_json(arm.breach) if arm.breach else None,
        "leaks": _leaks_json(arm.leaks) if arm.leaks else None,
        "blinding": None
        if arm.blinding is None
        else {
            "index": arm.blinding.index,
            "interval": list(arm.blinding.interval.interval),
            "method": arm.blinding.interval.method,
            "answers": arm.blinding.answers,
        },
        "guard": None
        if arm.guard is None
        else {
            "turns": dict(arm.guard.decisions),
            "drafts": arm.guard.drafts,
            "refusals": dict(arm.guard.refusals),
            "levels": {str(level): count for level, count in arm.guard.levels.items()},
        },
        "dollars": {"student": arm.student_dollars, "tutor": arm.tutor_dollars},
    }


def _leaks_json(found: MeasuredLeaks) -> dict[str, Any]:
    return {
        "index": found.index.mean,
        "interval": list(found.index.interval.interval),
        "method": found.index.interval.method,
        "problems": found.index.problems,
        "sessions": len(found.index.by_session),
        "above_yardstick": found.above.sessions if found.above else None,
        "gives_away_more_than_people": found.above.gives_away if found.above else None,
        "rows": found.address,
    }
