"""Plots of the results of a study."""

from __future__ import annotations

from benchmark.plots import POINTS, SHARES, ForestPlot, ForestRow
from benchmark.reports.formatting import INTERVAL_NAMES
from tutoring.studies.analysis import Figures
from tutoring.studies.estimation import Contrast


def contrast_plot(figures: Figures) -> ForestPlot | None:
    """Return the contrasts of the study, the primary one first; None without a complete pair."""
    if figures.primary is None:
        return None
    estimates = [_contrast_row(figures.primary, "primary", 0)]
    if figures.completed_only:
        estimates.append(_contrast_row(figures.completed_only, "completed sessions only", 0))
    estimates += [_contrast_row(one, "secondary", 1) for one in figures.secondary]
    return ForestPlot(
        name="contrasts",
        title="Contrasts of the study with 95 % intervals",
        estimates=estimates,
        scale=POINTS,
        axis="first minus second, percentage points",
    )


def _contrast_row(one: Contrast, label: str, kind: int) -> ForestRow:
    name = f"{one.first} minus {one.second}, {label}"
    return ForestRow(name, one.difference, one.low, one.high, one.problems, INTERVAL_NAMES[one.method], kind)


def rate_plot(figures: Figures) -> ForestPlot | None:
    """Return the rates of the arms; None without an analysed session."""
    estimates = [
        ForestRow(one.arm, one.rate, one.low, one.high, one.problems, INTERVAL_NAMES[one.method])
        for one in figures.arms
        if one.rate is not None and one.method is not None
    ]
    if not estimates:
        return None
    return ForestPlot(
        name="arm-rates",
        title="Rates of the arms with 95 % intervals",
        estimates=estimates,
        scale=SHARES,
        axis="rate in percent",
    )
