"""Parsers of arguments that several commands share."""

from __future__ import annotations

from uuid import UUID

from django.core.management.base import CommandError

from benchmark.text.numbers import whole_number
from tutoring.models import Session, Study


def find_study(text: str) -> Study:
    """Return the study of that NAME, or NAME@VERSION for an older version. Raises CommandError, listing all studies."""
    name, at, version = text.partition("@")
    rows = Study.objects.filter(name=name)
    if at:
        rows = rows.filter(version=whole_number(version) or 0)
    study = rows.order_by("-version").first()
    if study is None:
        known = ", ".join(f"{one.name}@{one.version}" for one in Study.objects.all()) or "none yet"
        raise CommandError(f"There is no study {text}. Studies: {known}.")
    return study


def find_session(text: str) -> Session:
    """Return the session of that id. Raises CommandError."""
    try:
        return Session.objects.get(pk=UUID(text))
    except (ValueError, Session.DoesNotExist):
        raise CommandError(f"There is no session {text}. The page of a trajectory contains its id.") from None
