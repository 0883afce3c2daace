"""Template tags for figures made from reviews: a value, its interval, and links to the sessions that it counts."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.text.numbers import with_minus
from tutoring.arms.figures import Contrast
from tutoring.review.agreement import CoefficientEstimate
from tutoring.review.detector_scores import DetectorScore, Proportion
from tutoring.review.solve_rates import SolveRate, SolveRateContrast
from tutoring.rules import RuleSet

register = template.Library()


@register.simple_tag
def coefficient(estimate: CoefficientEstimate) -> SafeString | str:
    """Return the coefficient with two decimal places and its interval; a dash if undefined."""
    return _with_interval(estimate, 1, 2)


@register.simple_tag
def percentage(estimate: CoefficientEstimate | Proportion) -> SafeString | str:
    """Return the value in per cent with its interval; a dash if undefined."""
    return _with_interval(estimate, 100, 0)


def _with_interval(estimate: CoefficientEstimate | Proportion, factor: int, digits: int) -> SafeString | str:
    if estimate.value is None:
        return "–"
    value = f"{estimate.value * factor:z.{digits}f}"  # z: no negative zero
    if estimate.interval is None:
        return value
    low, high = (f"{bound * factor:z.{digits}f}" for bound in estimate.interval)
    return format_html('{} <span class="interval">{} to {}</span>', value, low, high)


@register.simple_tag
def session_count(count: int, list_url: str, query: str) -> str:
    """Return the number of sessions, as a link to their list unless it is 0 or `list_url` is empty."""
    shown = f"{count:,}"
    return format_html('<a href="{}?{}">{}</a>', list_url, query, shown) if count and list_url else shown


@register.simple_tag
def solve_rate(rate: SolveRate, list_url: str, query: str, found: str) -> SafeString | str:
    """Return the rate, its interval with the method, and the counts, as links to lists of sessions with a `list_url`.

    `query` selects the sessions of the row and `found` those with one kind of review outcome.
    """
    if rate.share is None:
        return "–"
    counted = query + (f"&found={found}" if found else "")
    counts = format_html(
        "{} of {}",
        session_count(rate.solved, list_url, f"{counted}&solved=1"),
        session_count(rate.sessions, list_url, counted),
    )
    share = f"{rate.share * 100:.0f} %"
    if rate.interval is None:
        note = "unknown problems, no interval"
        return format_html('{} {} <span class="soft small">{}</span>', share, counts, note)
    problems = len(rate.by_problem)
    return format_html(
        '{} <span class="interval">{} to {}</span> {} <span class="soft small">{}, {} problem{}{}</span>',
        share,
        *(f"{bound * 100:.0f}" for bound in rate.interval.interval),
        counts,
        INTERVAL_NAMES[rate.interval.method],
        problems,
        "" if problems == 1 else "s",
        f"; {rate.excluded} with an unknown problem excluded" if rate.excluded else "",
    )


@register.filter
def difference(contrast: SolveRateContrast | Contrast) -> SafeString:
    """Return a difference in percentage points with its interval and method."""
    return format_html(
        '{} <span class="interval">{} to {}</span> <span class="soft small">{}</span>',
        *(
            with_minus(f"{value * 100:+z.0f}")
            for value in (contrast.difference.mean, *contrast.difference.interval)
        ),
        INTERVAL_NAMES[contrast.difference.method],
    )


@register.filter
def p_value(p: float | None) -> str:
    """Return a p value with three decimal places; a dash if there was no test."""
    return "–" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


@register.filter
def points_of(share: float) -> str:
    """Return a share in whole percentage points."""
    return f"{share * 100:.0f}"


@register.filter
def signed_points(share: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return with_minus(f"{share * 100:+z.1f}")


@register.filter
def percent_of(share: float) -> str:
    """Return a share in whole per cent, without the sign."""
    return f"{share * 100:z.0f}"


@register.filter
def action_title(action: str) -> str:
    """Return the name of an action's class in words: "Submit review" for SubmitReview."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", action).capitalize()


@register.filter
def interval_name(method: str) -> str:
    """Return the short name of the method of an interval."""
    return INTERVAL_NAMES[method]


@register.filter
def count_query(score: DetectorScore, version: int) -> str:
    """Return the query string for the messages that a detector's score counts, without the outcome."""
    return urlencode({"detector": score.detector, "clause": score.clause, "rule_set": version})


@register.simple_tag
def clause_title(rules: RuleSet, code: str) -> str:
    """Return the title of a clause."""
    return rules.clause(code).title
