"""The figures of arms as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmark.metrics import Range
from benchmark.reports.formatting import INTERVAL_NAMES, whole_percent
from benchmark.reports.tables import csv_text
from judge.management.tables import aligned
from tutoring.arms.figures.contrasts import Contrast, EquivalentFigure, Rate, RatioFigure
from tutoring.arms.figures.figures import ArmFigures
from tutoring.arms.figures.rows import LeftOut

CSV_COLUMNS = (
    "figure", "title", "first", "second", "selection", "rule", "problems", "first_sessions", "second_sessions",
    "estimate", "low", "high", "method", "p", "holm", "detectable", "simulated",
)  # fmt: skip


def difference_text(mean: float, low: float, high: float, detectable: float | None) -> str:
    """Return a difference in points: "+12 (-3 to +27), detectable from 30". `detectable`: None if significant."""
    shown = f"{100 * mean:+z.0f} ({100 * low:+z.0f} to {100 * high:+z.0f})"
    return shown if detectable is None else f"{shown}, detectable from {100 * detectable:.0f}"


def range_text(ranges: Sequence[Range], *, factor: float = 1, unit: str = "", digits: int = 0) -> str:
    """Return ranges in words: "12 to 40", "12 or more", "any value", "none". `digits` counts decimals."""
    if not ranges:
        return "none"
    return " or ".join(_range(one, factor, unit, digits) for one in ranges)


def _range(one: Range, factor: float, unit: str, digits: int) -> str:
    low, high = (None if end is None else f"{end * factor:z.{digits}f}{unit}" for end in one)
    match low, high:
        case None, None:
            return "any value"
        case None, _:
            return f"{high} or less"
        case _, None:
            return f"{low} or more"
    return low if low == high and low is not None else f"{low} to {high}"


def ratio_text(figure: RatioFigure) -> str:
    """Return the set of ratios in per cent."""
    return range_text(figure.found.ranges, factor=100, unit=" %")


def equivalent_set(figure: EquivalentFigure) -> str:
    """Return the set of equivalent samples in words."""
    if not figure.tested:
        return "no test"
    return range_text(figure.found.ranges)


def figures_text(figures: ArmFigures) -> str:
    """Return the figures as tables of text, with the addresses of the rows behind them."""
    lines = [
        f"People: {figures.text}. Model {figures.model}, protocol {figures.protocol}, stopping rule of the arms: "
        f"{figures.rule}."
    ]
    lines += [f"Warning: {warning}" for warning in figures.warnings]
    lines += [f"{arm.name}: {arm.warning}" for arm in figures.rates if arm.warning]
    lines += ["", "Solve rates", *_rates(figures)]
    for heading, contrasts in (
        ("Gains", figures.gains),
        ("Yoked comparisons", figures.yoked),
        ("Ladder, p with Holm's correction", figures.ladder),
    ):
        if contrasts:
            lines += ["", heading, *_contrasts(contrasts)]
    if figures.shares:
        rows = [("ratio", "problems", "estimate", "95 % set")]
        rows += [
            (one.title, str(one.problems), whole_percent(one.found.ratio), ratio_text(one))
            for one in figures.shares
        ]
        lines += ["", "Ratios", *aligned(rows)]
    if figures.equivalent:
        one = figures.equivalent
        least = f"more than {one.found.most}" if one.found.least is None else str(one.found.least)
        counted = f"{one.problems} problems, {one.found.most} samples each"
        lines += ["", f"Equivalent samples: {least}; 95 % set: {equivalent_set(one)} ({counted})"]
    return "\n".join([*lines, *left_out_lines(figures.left_out)])


def left_out_lines(left_out: Sequence[LeftOut]) -> list[str]:
    """Return what is left out as a table of text below an empty line; nothing if nothing is left out."""
    if not left_out:
        return []
    rows = [("left out", "number", "reason", "rows")]
    rows += [(one.arm, one.counted, one.reason, one.address) for one in left_out]
    return ["", *aligned(rows)]


def _rates(figures: ArmFigures) -> list[str]:
    rows = [("arm", "rule", "rate", "95 %", "problems", "sessions", "rows")]
    rows += [
        (
            arm.name,
            rule,
            whole_percent(one.share),
            _interval(one),
            str(one.problems),
            f"{one.solved} of {one.sessions}",
            arm.address,
        )
        for arm in figures.rates
        for rule, one in arm.rates
    ]
    return aligned(rows)


def _interval(one: Rate) -> str:
    if one.interval is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in one.interval.interval)
    return f"{low} to {high} ({INTERVAL_NAMES[one.interval.method]})"


def _contrasts(contrasts: Sequence[Contrast]) -> list[str]:
    rows = [
        (
            "contrast",
            "selection",
            "first − second",
            "points",
            "95 %",
            "problems",
            "sessions",
            "p",
            "detectable",
        )
    ]
    for one in contrasts:
        low, high = (f"{100 * end:+z.0f}" for end in one.difference.interval)
        p = one.p if one.adjusted is None else one.adjusted
        rows.append(
            (
                one.title,
                one.selection,
                f"{one.first} − {one.second}",
                f"{100 * one.difference.mean:+z.0f}",
                f"{low} to {high} ({INTERVAL_NAMES[one.difference.method]})",
                str(one.problems),
                f"{one.first_sessions} and {one.second_sessions}",
                *significance_cells(p, one.detectable, not_significant=one.not_significant),
            )
        )
    return aligned(rows)


def significance_cells(p: float | None, detectable: float, *, not_significant: bool) -> tuple[str, str]:
    """Return the cells of a test: p, and the detectable difference in points if the test finds none."""
    return "no test" if p is None else f"{p:.3f}", f"{100 * detectable:.0f}" if not_significant else ""


def figures_document(figures: ArmFigures) -> dict[str, Any]:
    """Return the figures as a JSON document."""
    equivalent = figures.equivalent
    return {
        "people": figures.text,
        "model": figures.model,
        "protocol": figures.protocol,
        "rule": figures.rule,
        "simulated": figures.simulated,
        "warnings": list(figures.warnings),
        "rates": [
            {
                "arm": arm.name,
                "rows": arm.address,
                "warning": arm.warning,
                "simulated": arm.simulated,
                "rule": rule or None,
                **rate_json(one),
            }
            for arm in figures.rates
            for rule, one in arm.rates
        ],
        "gains": [contrast_json(one) for one in figures.gains],
        "yoked": [contrast_json(one) for one in figures.yoked],
        "ladder": [contrast_json(one) for one in figures.ladder],
        "ladder_rates": [{"arm": name, **rate_json(one)} for name, one in figures.ladder_rates],
        "ratios": [_ratio_json(one) for one in figures.shares],
        "equivalent_samples": None
        if equivalent is None
        else {
            "problems": equivalent.problems,
            "samples": equivalent.samples,
            "least": equivalent.found.least,
            "most": equivalent.found.most,
            "set": [list(one) for one in equivalent.found.ranges] if equivalent.tested else None,
        },
        "matrix": [
            {
                "problem": str(problem),
                "arms": {
                    name: {"solved": cell.solved, "sessions": cell.sessions, "rows": cell.address}
                    for name, cell in zip(figures.matrix.columns, figures.matrix.cells(problem), strict=True)
                    if cell is not None
                },
            }
            for problem in figures.matrix.problems
        ],
        "left_out": left_out_json(figures.left_out),
    }


def left_out_json(left_out: Sequence[LeftOut]) -> list[dict[str, Any]]:
    """Return what is left out as JSON values."""
    return [
        {
            "arm": one.arm,
            "what": one.what,
            "count": one.count,
            "reason": one.reason,
            "rows": one.address or None,
        }
        for one in left_out
    ]


def rate_json(one: Rate) -> dict[str, Any]:
    """Return a rate by the names of its fields."""
    return {
        "share": one.share,
        "interval": None if one.interval is None else list(one.interval.interval),
        "method": None if one.interval is None else one.interval.method,
        "problems": one.problems,
        "solved": one.solved,
        "sessions": one.sessions,
    }


def contrast_json(one: Contrast) -> dict[str, Any]:
    """Return a contrast by the names of its fields."""
    return {
        "title": one.title,
        "first": one.first,
        "second": one.second,
        "selection": one.selection,
        "problems": one.problems,
        "first_sessions": one.first_sessions,
        "second_sessions": one.second_sessions,
        "difference": one.difference.mean,
        "interval": list(one.difference.interval),
        "method": one.difference.method,
        "detectable": one.detectable,
        "p": one.p,
        "holm": one.adjusted,
    }


def _ratio_json(one: RatioFigure) -> dict[str, Any]:
    return {
        "title": one.title,
        "first": one.first,
        "second": one.second,
        "problems": one.problems,
        "ratio": one.found.ratio,
        "set": [list(part) for part in one.found.ranges],
    }


def figures_csv(figures: ArmFigures) -> str:
    """Return the figures as CSV: a line for each rate, contrast, ratio range and the equivalent samples."""
    return csv_text(CSV_COLUMNS, (row | {"simulated": int(figures.simulated)} for row in _csv_rows(figures)))


def _csv_rows(figures: ArmFigures) -> Iterator[dict[str, Any]]:
    for arm in figures.rates:
        for rule, one in arm.rates:
            low, high = one.interval.interval if one.interval else ("", "")
            yield {
                "figure": "rate", "first": arm.name, "rule": rule, "problems": one.problems,
                "first_sessions": one.sessions, "estimate": one.share, "low": low, "high": high,
                "method": one.interval.method if one.interval else "",
            }  # fmt: skip
    for name, contrasts in (("gain", figures.gains), ("yoked", figures.yoked), ("step", figures.ladder)):
        for contrast in contrasts:
            low, high = contrast.difference.interval
            yield {
                "figure": name, "title": contrast.title, "first": contrast.first, "second": contrast.second,
                "selection": contrast.selection, "rule": "" if name == "gain" else figures.rule,
                "problems": contrast.problems, "first_sessions": contrast.first_sessions,
                "second_sessions": contrast.second_sessions, "estimate": contrast.difference.mean, "low": low,
                "high": high, "method": contrast.difference.method, "p": contrast.p, "holm": contrast.adjusted,
                "detectable": contrast.detectable,
            }  # fmt: skip
    for ratio in figures.shares:
        for part in ratio.found.ranges:
            yield {
                "figure": "ratio", "title": ratio.title, "first": ratio.first, "second": ratio.second,
                "problems": ratio.problems, "estimate": ratio.found.ratio, "low": part.low, "high": part.high,
            }  # fmt: skip
    if figures.equivalent:
        found = figures.equivalent.found
        for part in found.ranges if figures.equivalent.tested else ():
            yield {
                "figure": "equivalent samples", "first": "people", "second": "again",
                "problems": figures.equivalent.problems, "estimate": found.least, "low": part.low, "high": part.high,
            }  # fmt: skip
