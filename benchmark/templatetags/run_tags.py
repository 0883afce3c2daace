"""Figures of runs in templates, formatted as in the other formats of a report."""

from collections.abc import Sequence

from django import template
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe

from benchmark.metrics import Interval, RatioSet
from benchmark.models import Run
from benchmark.models.finishes import finish_warnings
from benchmark.plots import sparkline
from benchmark.reports import RunFigures
from benchmark.reports.comparison.text import TEST_NAMES, point_interval, points, ratio_ranges
from benchmark.reports.formatting import (
    INTERVAL_NAMES,
    contest_interval,
    duration,
    has_memory_column,
    headline_index,
    interval,
    label,
    memory_score,
    money,
    non_default_settings,
    percent,
    tests_share,
    token_count,
)
from benchmark.reports.groups import GroupFigures, PassAtK, TestsAtK
from benchmark.reports.slow.figures import SlowFigure
from benchmark.reports.slow.text import signed_number, slow_figure_title, times_faster
from benchmark.reports.steps import AfterReflections
from benchmark.reports.usage import Tokens, Usage
from benchmark.text.numbers import with_minus

register = template.Library()
register.filter("non_default_settings", non_default_settings)
register.filter("with_minus", with_minus)


@register.filter
def with_dataset(run: Run) -> str:
    """Return a short description of the run with its dataset."""
    return label(run, of=run.dataset.name)


@register.filter
def share(value: float | None) -> str:
    """Format a share in percent."""
    return percent(value)


@register.filter
def share_of(part: int, whole: int) -> str:
    """Format the share of a part in percent."""
    return percent(part / whole if whole else None)


@register.filter
def bounds(figure: PassAtK | AfterReflections) -> str:
    """Format the interval of a score over problems."""
    return interval(figure)


@register.filter
def contest_bounds(figure: PassAtK) -> str:
    """Format the interval of a score over contests."""
    return contest_interval(figure)


@register.filter
def tests(figure: TestsAtK) -> str:
    """Format Tests@k."""
    return tests_share(figure)


@register.filter
def cost(figures: RunFigures | Usage) -> str:
    """Format the cost."""
    return money(figures)


@register.filter
def seconds(value: float | None) -> str:
    """Format a duration in seconds."""
    return duration(value)


@register.filter
def tokens_of(tokens: Tokens, generations: int) -> str:
    """Format a number of tokens."""
    return token_count(tokens, generations)


@register.filter
def in_points(value: float | None) -> str:
    """Format a difference in percentage points."""
    return with_minus(points(value))


@register.filter
def point_bounds(value: Interval | None) -> str:
    """Format an interval of differences in percentage points."""
    return with_minus(point_interval(value))


@register.filter
def ratio_bounds(found: RatioSet | None) -> str:
    """Format a set of ratios."""
    return with_minus(ratio_ranges(found))


@register.filter
def method_name(method: str) -> str:
    """Return the short name of the method of an interval."""
    return INTERVAL_NAMES[method]


@register.filter
def test_name(test: str) -> str:
    """Return the short name of the test of a pair of runs."""
    return TEST_NAMES[test]


@register.filter
def figure_title(figure: SlowFigure) -> str:
    """Return the name of a figure of slow programs as it is shown."""
    return slow_figure_title(figure)


@register.filter
def signed(value: float) -> str:
    """Format a change with its sign and two decimals."""
    return with_minus(signed_number(value))


@register.filter
def times(ratio: float) -> str:
    """Format a ratio of times."""
    return times_faster(ratio)


@register.filter
def mebibytes(value: int) -> str:
    """Format a number of bytes in MiB."""
    return f"{value / 2**20:.1f} MiB"


@register.filter
def figure_name(figures: RunFigures, k: int) -> str:
    """Return the name of the score for k attempts."""
    return figures.figure_name(k)


@register.filter
def answered(group: GroupFigures) -> PassAtK:
    """Return the headline over answered items."""
    return group.answered_at[headline_index(group)]


@register.filter
def planned(group: GroupFigures) -> PassAtK:
    """Return the headline over planned items, with permanent failures as wrong."""
    return group.planned_at[headline_index(group)]


@register.filter
def curve(group: GroupFigures) -> str:
    """Return the scores of a refine run before its headline, in percent."""
    return " · ".join(percent(point.value).removesuffix(" %") for point in group.refine_at[:-1])


@register.filter("sparkline")
def small_curve(values: Sequence[float]) -> SafeString:
    """Return shares as a small curve."""
    return mark_safe(sparkline(values))  # noqa: S308  numbers only


@register.filter
def curve_sparkline(group: GroupFigures) -> SafeString:
    """Return all scores of a refine run as a small curve; blank without values."""
    values = [point.value for point in group.refine_at if point.value is not None]
    return small_curve(values if len(values) == len(group.refine_at) else [])


@register.filter
def curve_name(figures: RunFigures) -> str:
    """Return the name of the scores in `curve`: "Refine@1 … 4"."""
    last = len(figures.groups[0].refine_at) - 1
    return f"Refine@1 … {last}" if last > 1 else "Refine@1"


@register.filter
def memory_column(figures: RunFigures) -> bool:
    """Return whether the table of groups has a column for memory probes."""
    return has_memory_column(figures)


@register.simple_tag
def memory_of(group: GroupFigures, figures: RunFigures) -> str:
    """Return the score of the memory probes of a group, blank without any."""
    return memory_score(group, figures)


@register.filter
def finish_warning_list(figures: RunFigures) -> list[str]:
    """Return the warnings about replies that were cut off, refused or empty."""
    return list(finish_warnings(figures.finishes))


@register.simple_tag
def group_query(group: GroupFigures, figures: RunFigures, verdict: str = "", permanent: str = "") -> str:
    """Return the query string for the items of a group, with its question mark."""
    asked = {"by": group.by, "name": group.name}
    asked |= {"permanent": permanent} if permanent else {"state": "done"}
    if group.by == "cutoff" and figures.cutoff:
        asked["cutoff"] = figures.cutoff.isoformat()
    if verdict:
        asked["verdict"] = verdict
    return "?" + urlencode(asked)
