"""What a run came to: its figures, and the forms they are printed in."""

from collections.abc import Callable, Sequence

from benchmark.reports.cached_report import kept_figures
from benchmark.reports.comparison import Comparison, NothingToCompare, compare
from benchmark.reports.comparison_text import comparison_text
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
    "NothingToCompare",
    "RunFigures",
    "compare",
    "comparison_text",
    "kept_figures",
    "measure",
]
