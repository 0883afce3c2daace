"""Sessions of people that arms are compared with, selected by a text: `attempt=first,model=openai:gpt-4o`."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from benchmark.methods import SettingsError
from tutoring.models import Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.solve_rates import counted_sessions

FORM = (
    "Write all, or conditions joined by commas: attempt=first or later, model=PROVIDER:MODEL, protocol=NAME or "
    "NAME@VERSION, since=YYYY-MM-DD, until=YYYY-MM-DD, session=ID (several ids joined by +)."
)


def human_sessions(text: str) -> SessionQuerySet:
    """Return the closed sessions of people that fit the text, without invalidated ones. Raises SettingsError."""
    found = counted_sessions().filter(
        origin=Session.Origin.TUTORED, problem__isnull=False, protocol__isnull=False
    )
    for condition in [] if text.strip() == "all" else text.split(","):
        found = found.filter(_condition(text, condition))
    return found.order_by("problem", "opened_at", "pk")


def _condition(text: str, condition: str) -> Q:
    name, _, value = (part.strip() for part in condition.partition("="))
    try:
        match name:
            case "attempt" if value in ("first", "later"):
                return Q(number=1) if value == "first" else Q(number__gt=1)
            case "model" if value:
                return Q(model_spec=value)
            case "protocol" if value:
                protocol, at, version = value.partition("@")
                return Q(protocol__name=protocol) & (Q(protocol__version=int(version)) if at else Q())
            case "since":
                return Q(opened_at__gte=_day(value))
            case "until":
                return Q(opened_at__lt=_day(value))
            case "session":
                return Q(pk__in=[UUID(one) for one in value.split("+")])
    except ValueError:
        pass
    raise SettingsError(f"{text!r} selects no sessions: {condition.strip()!r} is not a condition. {FORM}")


def _day(value: str) -> datetime:
    return timezone.make_aware(datetime.fromisoformat(value))
