"""Template tags of studies: shares, rates and differences of arms, and the tutor's next session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.roles import Role
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.text.numbers import with_minus
from tutoring.studies.estimation import ArmRate, Contrast
from tutoring.studies.offers import current_offer

register = template.Library()

Faults = Mapping[str, list[str]]
"""Sentences about the fields of a form, by field."""


@register.inclusion_tag("tutoring/studies/_next_session.html", takes_context=True)
def next_session(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of `{% next_session %}`: nothing for people who are in no current study."""
    person = context["user"]
    tutors = isinstance(person, User) and Role.TUTOR in context["roles"]
    offer = current_offer(person) if tutors else None
    return {"offer": offer, "csrf_token": context["csrf_token"]}


@register.simple_tag
def invalid(faults: Faults, field: str, note: str = "") -> SafeString:
    """Return the attributes that tie a field of a form to its faults, and to the explanation with the id `note`."""
    ids = [note] if note else []
    if not faults.get(field):
        return _described(ids)
    return format_html(' aria-invalid="true"{}', _described([*ids, f"{field}-faults"]))


@register.simple_tag
def described(faults: Faults, *fields: str) -> SafeString:
    """Return the attribute that ties a group of fields to the faults of `fields`."""
    return _described([f"{field}-faults" for field in fields if faults.get(field)])


def _described(ids: Sequence[str]) -> SafeString:
    return format_html(' aria-describedby="{}"', " ".join(ids)) if ids else SafeString()


@register.filter
def percent(share: float) -> str:
    """Return a share in percent with one decimal place."""
    return f"{100 * share:.1f} %"


@register.filter
def three_digits(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:.3g}"


@register.filter
def at(values: Sequence[object], index: int) -> object:
    """Return the value at an index."""
    return values[index]


@register.filter
def as_json(value: object) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def study_difference(contrast: Contrast) -> SafeString:
    """Return a difference in percentage points with its interval and method."""
    return format_html(
        '{} <span class="interval">{} to {}</span> <span class="soft small">{}</span>',
        *(with_minus(f"{100 * value:+z.0f}") for value in (contrast.difference, contrast.low, contrast.high)),
        INTERVAL_NAMES[contrast.method],
    )


@register.filter
def arm_rate(rate: ArmRate) -> SafeString | str:
    """Return the rate of an arm in percent with its interval and method; a dash without sessions."""
    if rate.rate is None or rate.low is None or rate.high is None or rate.method is None:
        return "–"
    return format_html(
        '{} % <span class="interval">{} to {}</span> <span class="soft small">{}</span>',
        *(f"{100 * value:.0f}" for value in (rate.rate, rate.low, rate.high)),
        INTERVAL_NAMES[rate.method],
    )
