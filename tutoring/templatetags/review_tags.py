"""Figures of reviews as the pages write them: a value, its interval, and the link to the sessions behind it."""

from __future__ import annotations

from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchmark.reports.formatting import INTERVAL_NAMES
from tutoring.review.agreement import Figure
from tutoring.review.detector_scores import Score, Share
from tutoring.review.solve_rates import Contrast, Rate
from tutoring.rules import RuleSet

register = template.Library()


@register.simple_tag
def coefficient(figure: Figure) -> SafeString | str:
    """Two digits and the interval; a dash where it is not defined."""
    return _figure(figure, 1, 2)


@register.simple_tag
def percentage(figure: Figure | Share) -> SafeString | str:
    """In per cent, with the interval."""
    return _figure(figure, 100, 0)


def _figure(figure: Figure | Share, factor: int, digits: int) -> SafeString | str:
    if figure.value is None:
        return "–"
    value = f"{figure.value * factor:z.{digits}f}"  # z: no negative zero
    if figure.interval is None:
        return value
    low, high = (f"{bound * factor:z.{digits}f}" for bound in figure.interval)
    return format_html('{} <span class="interval">{} to {}</span>', value, low, high)


@register.simple_tag
def solve_rate(rate: Rate, address: str, query: str, found: str) -> SafeString | str:
    """Share, interval with its method, and counts; solved and counted sessions are links to their list."""
    if rate.share is None:
        return "–"
    behind = f"{address}?{query}" + (f"&found={found}" if found else "")
    counted = format_html(
        '<a href="{}&solved=1">{}</a> of <a href="{}">{}</a>', behind, rate.solved, behind, rate.sessions
    )
    share = f"{rate.share * 100:.0f} %"
    if rate.interval is None:
        note = "unknown problems, no interval"
        return format_html('{} {} <span class="soft small">{}</span>', share, counted, note)
    problems = len(rate.by_problem)
    return format_html(
        '{} <span class="interval">{} to {}</span> {} <span class="soft small">{}, {} problem{}{}</span>',
        share,
        *(f"{bound * 100:.0f}" for bound in rate.interval.interval),
        counted,
        INTERVAL_NAMES[rate.interval.method],
        problems,
        "" if problems == 1 else "s",
        f"; {rate.left_out} with an unknown problem excluded" if rate.left_out else "",
    )


@register.filter
def difference(contrast: Contrast) -> SafeString:
    """A contrast in percentage points, with its interval and the method of it."""
    return format_html(
        '{} <span class="interval">{} to {}</span> <span class="soft small">{}</span>',
        f"{contrast.difference.mean * 100:+z.0f}",
        *(f"{bound * 100:+z.0f}" for bound in contrast.difference.interval),
        INTERVAL_NAMES[contrast.difference.method],
    )


@register.filter
def p_value(p: float | None) -> str:
    """A p value with three digits; a dash where nothing was tested."""
    return "–" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


@register.filter
def points_of(share: float) -> str:
    """A share in whole percentage points."""
    return f"{share * 100:.0f}"


@register.filter
def count_query(score: Score, version: int) -> str:
    """The address of the messages behind a detector's count, without the outcome."""
    return urlencode({"detector": score.detector, "clause": score.clause, "rule_set": version})


@register.simple_tag
def clause_title(rules: RuleSet, code: str) -> str:
    """What a clause is called."""
    return rules.clause(code).title
