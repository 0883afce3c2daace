"""Figures of slow programs: each arm paired with `slow-told` over the same start programs (docs/slow-programs.md)."""

from benchmark.reports.slow.chains import SlowOutcome
from benchmark.reports.slow.figures import (
    BASE,
    SlowComparedArm,
    SlowFigure,
    SlowReport,
    SlowRow,
    SlowRunsError,
    shown_slow_report,
    slow_report,
)
from benchmark.reports.slow.text import NOTE, FigureText, figure_text, slow_text

__all__ = [
    "BASE",
    "NOTE",
    "FigureText",
    "SlowComparedArm",
    "SlowFigure",
    "SlowOutcome",
    "SlowReport",
    "SlowRow",
    "SlowRunsError",
    "figure_text",
    "shown_slow_report",
    "slow_report",
    "slow_text",
]
