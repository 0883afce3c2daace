"""Plots of runs that more than one page shows, or whose data come from one report."""

from collections.abc import Sequence
from math import exp, inf

from benchmark.plots import (
    FACTORS,
    POINTS,
    RATIOS,
    SLOPES,
    Curve,
    CurvePlot,
    CurvePoint,
    ForestPlot,
    ForestRow,
)
from benchmark.reports import Comparison, RunFigures
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.reports.refinement.curves import RefinementCurve
from benchmark.reports.slow.figures import BASE, Kind, SlowComparedArm, SlowFigure
from benchmark.reports.slow.text import slow_figure_title


def reflection_points(figures: RunFigures, run: str = "") -> tuple[CurvePoint, ...]:
    """Return pass@1 in percent after 0 … i reflections of the run, without points that lack judgements."""
    return tuple(
        CurvePoint(one.i, 100 * one.value, 100 * one.low, 100 * one.high, one.problems, run)
        for one in figures.after
        if one.value is not None and one.low is not None and one.high is not None
    )


def reflection_plot(figures: RunFigures) -> CurvePlot | None:
    """Return the curve of a run over its reflections; None for fewer than two points."""
    points = reflection_points(figures)
    if len(points) < 2:
        return None
    return CurvePlot(
        name="fewer-reflections",
        title=f"pass@1 with fewer reflections: {figures.method}, {figures.model}",
        curves=[Curve("pass@1", points)],
        x_name="reflections allowed",
        y_name="pass@1 in percent",
    )


def refinement_plot(curve: RefinementCurve, model: str) -> CurvePlot:
    """Return Refine@1 … Refine@K."""
    points = tuple(
        CurvePoint(one.k, 100 * one.value, 100 * one.interval.low, 100 * one.interval.high, curve.problems)
        for one in curve.points
    )
    return CurvePlot(
        name="refine-at-k",
        title=f"Refine@k of {model}",
        curves=[Curve("Refine@k", points)],
        x_name="k",
        y_name="Refine@k in percent",
    )


def difference_plot(comparison: Comparison) -> ForestPlot | None:
    """Return the differences from the base run; None if no run shares a problem with it."""
    estimates = [
        ForestRow(
            pair.label,
            pair.difference,
            pair.interval.low if pair.interval else None,
            pair.interval.high if pair.interval else None,
            pair.problems,
            INTERVAL_NAMES[pair.interval_method],
        )
        for pair in comparison.pairs
        if pair.difference is not None
    ]
    if not estimates:
        return None
    return ForestPlot(
        name="differences",
        title=f"Differences from the base run: {comparison.first_label}",
        estimates=estimates,
        scale=POINTS,
        axis="this run minus the base run, percentage points",
    )


def best_score_plot(comparison: Comparison) -> ForestPlot | None:
    """Return the scores of the runs as shares of the best score; None for fewer than three runs."""
    runs = {pair.run: pair for pair in comparison.pairs}
    estimates = []
    for one in comparison.shares_of_best:
        if one.of_score is not None and (found := one.of_score_set) is not None:
            # A set of two ranges excludes only the ratios between them, so that its ends are infinite.
            low, high = found.ranges[0].low, found.ranges[-1].high
            low, high = -inf if low is None else low, inf if high is None else high
            pair = runs[one.run]
            estimates.append(ForestRow(pair.label, one.of_score, low, high, pair.problems, "Fieller"))
    if not estimates:
        return None
    return ForestPlot(
        name="shares-of-best",
        title="Share of best score",
        estimates=estimates,
        scale=RATIOS,
        axis="share of the best score, percent",
    )


_SLOW_PLOTS: dict[Kind, tuple[str, str]] = {
    "share": ("differences", "percentage points"),
    "slope": ("slopes", "difference of the slope"),
    "log ratio": ("factors", "factor of time"),
}
"""The name of the plot of each kind of figure, and of its axis."""


def slow_plots(arm: SlowComparedArm, prefix: str) -> list[ForestPlot]:
    """Return the figures of an arm beside `slow-told`, one plot for each unit."""
    plots = []
    for kind, (name, unit) in _SLOW_PLOTS.items():
        estimates = [row for one in arm.figures if one.kind == kind and (row := _slow_row(one))]
        if estimates:
            scale = {"share": POINTS, "slope": SLOPES, "log ratio": FACTORS}[kind]
            plots.append(
                ForestPlot(
                    name=f"{prefix}-{name}",
                    title=f"{arm.arm} against {BASE}: {unit}",
                    estimates=estimates,
                    scale=scale,
                    axis=f"{arm.arm} against {BASE}, {unit}",
                )
            )
    return plots


def _slow_row(figure: SlowFigure) -> ForestRow | None:
    found = figure.contrast
    if found is None:
        return None
    values: Sequence[float | None] = (found.difference, found.low, found.high)
    if figure.kind == "log ratio":
        values = [None if value is None else exp(value) for value in values]
    value, low, high = values
    assert value is not None
    title = slow_figure_title(figure)
    return ForestRow(title, value, low, high, found.problems, INTERVAL_NAMES[found.method])
