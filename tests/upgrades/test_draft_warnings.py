"""Warnings about unsent drafts of older versions: the values of a column become rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from tutoring.models import Draft, DraftWarning

BEFORE = [
    ("accounts", "0003_single_sign_on"),
    ("benchmark", "0057_spending_purpose"),
    ("tutoring", "0046_covering_indexes"),
]
"""The migrations of a version from which an upgrade has little to do."""

SESSION = UUID(int=3)
DETECTION = {"clause": "F1", "start": 0, "end": 3, "explanation": "Names it.", "weight": 0.9}
CHECKS: list[dict[str, Any]] = [
    {"at": "2026-01-02T10:00:00+00:00", "text": "Use a heap.", "detections": [DETECTION]},
    {"at": "2026-01-02T10:00:05+00:00", "text": "Use two heaps.", "detections": []},
]


def store_old_rows(old: Any) -> None:
    session = old.get_model("tutoring", "Session").objects.create(pk=SESSION, language="python")
    old.get_model("tutoring", "Draft").objects.create(session=session, text="Use", checks=CHECKS)


def check_migrated_rows() -> None:
    assert Draft.objects.get(session=SESSION).text == "Use"
    assert list(DraftWarning.objects.values("session", "at", "text", "detections")) == [
        {"session": SESSION, **check, "at": parse_datetime(check["at"])} for check in CHECKS
    ]


def test_warnings_of_older_versions_are_kept(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_migrated_rows)
