"""Reports of runs: their figures, the formats of a report, and comparisons."""

from collections.abc import Callable, Sequence

from benchmark.reports.cached_report import run_report
from benchmark.reports.comparison import Comparison, NothingToCompareError, compare, comparison_text
from benchmark.reports.figures import RunFigures, measure
from benchmark.reports.html import as_html
from benchmark.reports.plain import as_text
from benchmark.reports.tables import as_csv, as_json

FORMATS: dict[str, Callable[[Sequence[RunFigures]], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "html": as_html,
}

__all__ = [
    "FORMATS",
    "Comparison",
    "NothingToCompareError",
    "RunFigures",
    "compare",
    "comparison_text",
    "measure",
    "run_report",
]
