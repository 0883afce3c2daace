"""Figures of reviews as the pages write them: a value, its interval, and the link to the sessions behind it."""

from __future__ import annotations

from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tutoring.review.agreement import Figure
from tutoring.review.detector_scores import Score, Share
from tutoring.review.solve_rates import Rate
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
    value = f"{figure.value * factor:.{digits}f}"
    if figure.interval is None:
        return value
    low, high = (f"{bound * factor:.{digits}f}" for bound in figure.interval)
    return format_html('{} <span class="interval">{} to {}</span>', value, low, high)


@register.simple_tag
def solve_rate(rate: Rate, address: str, query: str, found: str) -> SafeString | str:
    """Share, interval and counts; solved and counted sessions are links to their list."""
    if rate.share is None or rate.interval is None:
        return "–"
    behind = f"{address}?{query}" + (f"&found={found}" if found else "")
    return format_html(
        '{} % <span class="interval">{} to {}</span> <a href="{}&solved=1">{}</a> of <a href="{}">{}</a>',
        f"{rate.share * 100:.0f}",
        *(f"{bound * 100:.0f}" for bound in rate.interval),
        behind,
        rate.solved,
        behind,
        rate.sessions,
    )


@register.filter
def count_query(score: Score, version: int) -> str:
    """The address of the messages behind a detector's count, without the outcome."""
    return urlencode({"detector": score.detector, "clause": score.clause, "rule_set": version})


@register.simple_tag
def clause_title(rules: RuleSet, code: str) -> str:
    """What a clause is called."""
    return rules.clause(code).title
