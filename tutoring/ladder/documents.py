"""The figures of the ladder of help as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmark.metrics import FEWEST_TESTED_PROBLEMS
from benchmark.reports.formatting import INTERVAL_NAMES, whole_percent
from benchmark.reports.tables import csv_text
from judge.management.tables import aligned
from tutoring.arms.figures.documents import left_out_json, left_out_lines, significance_cells
from tutoring.ladder.figures import LadderFigures
from tutoring.studies.estimation import Contrast

CSV_COLUMNS = (
    "figure", "first", "second", "level", "problems", "sessions", "solved", "estimate", "low", "high", "method", "p",
    "holm", "fitted", "neutral", "simulated",
)  # fmt: skip


def figures_text(figures: LadderFigures) -> str:
    """Return the figures as tables of text, with the addresses of the rows behind them."""
    lines = [f"Sessions of people: {figures.text} ({figures.sessions} reviewed twice)"]
    lines += [f"Warning: {warning}" for warning in figures.warnings]
    rows = [("highest level at most", "solved", "95 %", "sessions", "problems", "neutral", "rows")]
    rows += [
        (
            str(one.level),
            whole_percent(one.rate),
            _ends(*one.interval.interval, one.interval.method),
            f"{one.solved} of {one.sessions}",
            str(one.problems),
            whole_percent(one.neutral),
            address,
        )
        for one, address in zip(figures.curve, figures.addresses, strict=True)
    ]
    lines += ["", "Help curve (descriptive)", *aligned(rows)]
    if figures.comparison:
        lines += ["", *_caps(figures)]
    lines += ["", *_intended(figures)]
    return "\n".join([*lines, *left_out_lines(figures.left_out)])


def _caps(figures: LadderFigures) -> Iterator[str]:
    comparison = figures.comparison
    assert comparison is not None
    rows = [("cap", "arm", f"{figures.outcome}", "95 %", "monotone", "sessions", "obeying the cap", "rows")]
    for arm, rate, fitted in zip(figures.arms, comparison.rates, comparison.fitted, strict=True):
        ends = "" if rate.low is None or rate.high is None else _ends(rate.low, rate.high, rate.method)
        obeying = f"{arm.obeying} of {arm.decided}, {arm.undecided} undecided"
        shares = whole_percent(rate.rate), ends, whole_percent(fitted)
        rows.append((str(arm.cap), arm.name, *shares, str(rate.sessions), obeying, arm.address))
    yield f"By level cap, by assignment in {figures.study}"
    yield from aligned(rows)
    for heading, contrasts in (("Steps", comparison.steps), ("Gain over neutral", comparison.gains)):
        if contrasts:
            yield heading
            yield from aligned(
                [("first − second", "points", "95 %", "problems", "p", "detectable"), *map(_row, contrasts)]
            )
    yield f"Least help: {least_help(figures)}"


def _row(one: Contrast) -> tuple[str, ...]:
    p = one.p if one.holm is None else one.holm
    return (
        f"{one.first} − {one.second}",
        f"{100 * one.difference:+z.0f}",
        _ends(one.low, one.high, one.method),
        str(one.problems),
        *significance_cells(p, one.detectable, not_significant=one.not_significant),
    )


def _intended(figures: LadderFigures) -> Iterator[str]:
    found = figures.intended
    yield f"Intended against settled level: {found.messages} messages with both"
    if found.alpha is not None:
        ends = found.alpha_interval
        interval = f", 95 % {ends.low:.2f} to {ends.high:.2f}" if ends else ""
        yield f"Krippendorff's ordinal α {found.alpha:.2f}{interval}"
    for one in found.drifts:
        low, high = one.interval.interval
        yield f"Settled − intended, {one.name}: {one.mean:+.2f} ({low:+.2f} to {high:+.2f}), {one.messages} messages"


def least_help(figures: LadderFigures) -> str:
    """Return the smallest cap with a gain over the neutral arm in words."""
    if figures.comparison is None or not figures.comparison.gains:
        return "unknown: the study has no neutral arm with outcomes"
    if all(gain.p is None for gain in figures.comparison.gains):
        return f"unknown: a gain is tested from {FEWEST_TESTED_PROBLEMS} problems"
    least = figures.comparison.least
    return "none shown" if least is None else f"level {least}"


def _ends(low: float, high: float, method: str | None) -> str:
    return f"{100 * low:z.0f} to {100 * high:z.0f} ({INTERVAL_NAMES[method] if method else ''})"


def figures_document(figures: LadderFigures) -> dict[str, Any]:
    """Return the figures as a JSON document."""
    comparison, intended = figures.comparison, figures.intended
    return {
        "people": figures.text,
        "study": figures.study or None,
        "outcome": figures.outcome or None,
        "simulated": figures.simulated,
        "warnings": list(figures.warnings),
        "sessions": figures.sessions,
        "curve": [
            {
                "level": one.level,
                "rate": one.rate,
                "interval": list(one.interval.interval),
                "method": one.interval.method,
                "solved": one.solved,
                "sessions": one.sessions,
                "problems": one.problems,
                "neutral": one.neutral,
                "compared": one.compared,
                "rows": address,
            }
            for one, address in zip(figures.curve, figures.addresses, strict=True)
        ],
        "caps": [
            {
                "cap": arm.cap,
                "arm": arm.name,
                **rate.model_dump(mode="json", exclude={"arm"}),
                "fitted": fitted,
                "obeying": arm.obeying,
                "decided": arm.decided,
                "undecided": arm.undecided,
                "rows": arm.address,
            }
            for arm, rate, fitted in zip(figures.arms, comparison.rates, comparison.fitted, strict=True)
        ]
        if comparison
        else [],
        "steps": [one.model_dump(mode="json") for one in comparison.steps] if comparison else [],
        "gains": [one.model_dump(mode="json") for one in comparison.gains] if comparison else [],
        "least_help": comparison.least if comparison else None,
        "intended": {
            "messages": intended.messages,
            "table": [list(row) for row in intended.table],
            "alpha": intended.alpha,
            "interval": list(intended.alpha_interval) if intended.alpha_interval else None,
            "drift": [
                {
                    "of": one.name,
                    "messages": one.messages,
                    "problems": one.problems,
                    "mean": one.mean,
                    "interval": list(one.interval.interval),
                    "method": one.interval.method,
                }
                for one in intended.drifts
            ],
        },
        "left_out": left_out_json(figures.left_out),
    }


def figures_csv(figures: LadderFigures) -> str:
    """Return the figures as CSV: a line for each point of the curve, cap, difference, drift and α."""
    return csv_text(CSV_COLUMNS, (row | {"simulated": int(figures.simulated)} for row in _csv_rows(figures)))


def _csv_rows(figures: LadderFigures) -> Iterator[dict[str, Any]]:
    for point in figures.curve:
        low, high = point.interval.interval
        yield {
            "figure": "help curve", "level": point.level, "problems": point.problems, "sessions": point.sessions,
            "solved": point.solved, "estimate": point.rate, "low": low, "high": high, "method": point.interval.method,
            "neutral": point.neutral,
        }  # fmt: skip
    if comparison := figures.comparison:
        for cap, rate, fitted in zip(comparison.caps, comparison.rates, comparison.fitted, strict=True):
            yield {
                "figure": "rate by cap", "first": rate.arm, "level": cap, "problems": rate.problems,
                "sessions": rate.sessions, "estimate": rate.rate, "low": rate.low, "high": rate.high,
                "method": rate.method, "fitted": fitted,
            }  # fmt: skip
        for name, contrasts in (("step", comparison.steps), ("gain over neutral", comparison.gains)):
            for one in contrasts:
                yield {
                    "figure": name, "first": one.first, "second": one.second, "problems": one.problems,
                    "sessions": one.first_sessions, "estimate": one.difference, "low": one.low, "high": one.high,
                    "method": one.method, "p": one.p, "holm": one.holm,
                }  # fmt: skip
        yield {"figure": "least help", "level": comparison.least}
    found = figures.intended
    if found.alpha is not None:
        ends = dict(zip(("low", "high"), found.alpha_interval or (), strict=False))
        yield {"figure": "ordinal alpha", "estimate": found.alpha, **ends}
    for drift in found.drifts:
        low, high = drift.interval.interval
        yield {
            "figure": "settled - intended", "first": drift.name, "problems": drift.problems, "estimate": drift.mean,
            "low": low, "high": high, "method": drift.interval.method,
        }  # fmt: skip
