"""Sessions of people that arms are compared with, selected by a text: `attempt=first,model=openai:gpt-4o`."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmark.methods import SettingsError
from tutoring.models import Assignment, Event, Session, Study
from tutoring.models.sessions import SessionQuerySet
from tutoring.sessions.assignments import locked_sessions, rehearsed_sessions

FORM = (
    "A filter is all, or conditions joined by commas: attempt=first, later or any, model=PROVIDER:MODEL, protocol=NAME "
    "or NAME@VERSION, study=NAME or NAME@VERSION, arm=NAME in a study, tutor=PSEUDONYM, since=YYYY-MM-DD, "
    "until=YYYY-MM-DD, session=ID (several ids joined by +)."
)

_ENDED = (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED)


class ErasedMessagesError(Exception):
    """A chain needs messages of a session that was erased after its run had been planned."""

    def __init__(self) -> None:
        super().__init__(
            "the chain needs messages of a session that was erased: its tutor has withdrawn the consent"
        )


def origin_warnings(study: Study | None, *, simulated: bool) -> list[str]:
    """Return the warnings that figures of simulated sessions or of a rehearsal carry."""
    warnings = []
    if simulated:
        warnings.append(
            "Simulated: the sessions are with a scripted or simulated model. These figures test the estimators and say "
            "nothing about any model or person."
        )
    if study is not None and study.rehearsal:
        warnings.append(f"Rehearsal: {study} is not a real study.")
    return warnings


def exploratory_except(study: Study) -> str:
    """Return the sentence that figures are exploratory, except the contrasts of this frozen study."""
    return f"Exploratory, except what the frozen study {study} names: {study.named_contrasts}."


def human_sessions(text: str) -> SessionQuerySet:
    """Return `matching_sessions` without invalidated and uncounted ones. Raises SettingsError."""
    return matching_sessions(text).filter(invalidated=False).exclude(pk__in=uncounted_by(text))


def yokable_sessions(text: str) -> SessionQuerySet:
    """Return the sessions that fit the text and may begin yoked chains. Raises SettingsError.

    They are those of `human_sessions`, and sessions of a running study that the text names: the record of a chain shows
    no more of them than their own records do.
    """
    found = matching_sessions(text).filter(invalidated=False)
    return found if _names(text, "study") else found.exclude(pk__in=uncounted_by(text))


def named_studies(text: str) -> set[str]:
    """Return the studies that the text selects, as NAME or NAME@VERSION."""
    parts = (condition.partition("=") for condition in _conditions(text))
    return {value.strip() for name, _, value in parts if name.strip() == "study"}


def of_version(text: str, study: str, version: int) -> str:
    """Return the text with the condition study=NAME of this study as study=NAME@VERSION."""
    own = f"study={study}"
    conditions = (condition.strip() for condition in _conditions(text))
    return ",".join(f"{own}@{version}" if one.replace(" ", "") == own else one for one in conditions) or text


def narrowed(text: str, condition: str) -> str:
    """Return the text with a further condition."""
    return condition if text.strip() == "all" else f"{text},{condition}"


def uncounted_by(text: str) -> QuerySet[Assignment, Any]:
    """Return the ids of sessions of running studies, and of rehearsals unless the text names a study."""
    return locked_sessions() if _names(text, "study") else locked_sessions() | rehearsed_sessions()


def matching_sessions(text: str) -> SessionQuerySet:
    """Return the closed sessions of people with a known outcome that fit the text, invalidated ones included.

    Raises SettingsError.
    """
    found = Session.objects.filter(
        state=Session.State.CLOSED,
        outcome__in=_ENDED,
        origin=Session.Origin.TUTORED,
        problem__isnull=False,
        protocol__isnull=False,
    )
    for condition in _conditions(text):
        found = found.filter(_condition(text, condition))
    return found.order_by("problem", "opened_at", "pk")


def names_attempts(text: str) -> bool:
    """Return whether the text says which attempts of a person it selects."""
    return _names(text, "attempt", "session")


def _names(text: str, *names: str) -> bool:
    """Return whether the text has a condition of one of these names."""
    return any(condition.partition("=")[0].strip() in names for condition in _conditions(text))


def _conditions(text: str) -> list[str]:
    return [] if text.strip() == "all" else text.split(",")


def _condition(text: str, condition: str) -> Q | Exists:
    name, _, value = (part.strip() for part in condition.partition("="))
    try:
        match name:
            case "attempt" if value in ("first", "later", "any"):
                return {"first": Q(number=1), "later": Q(number__gt=1), "any": Q()}[value]
            case "protocol" | "study" if value:
                return _of_version({"protocol": "protocol", "study": "assignment__study"}[name], value)
            case "model" | "arm" if value:
                return Q(**{{"model": "model_spec", "arm": "assignment__arm__name"}[name]: value})
            case "tutor" if value:
                opened = Event.objects.filter(session=OuterRef("pk"), kind=Event.Kind.OPENED, by=value)
                return Exists(opened)
            case "since" | "until":
                return Q(**{f"opened_at__{'gte' if name == 'since' else 'lt'}": _day(value)})
            case "session":
                return Q(pk__in=[UUID(one) for one in value.split("+")])
    except ValueError:
        pass
    raise SettingsError(f"{text!r} selects no sessions: {condition.strip()!r} is not a condition. {FORM}")


def _of_version(path: str, value: str) -> Q:
    """Return the condition NAME or NAME@VERSION on a related row. Raises ValueError."""
    name, at, version = value.partition("@")
    return Q(**{f"{path}__name": name}) & (Q(**{f"{path}__version": int(version)}) if at else Q())


def _day(value: str) -> datetime:
    return timezone.make_aware(datetime.fromisoformat(value))
