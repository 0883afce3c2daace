"""Rows of replies in one statement, at a third of what `bulk_create` takes: no other step of a call was dearer."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.utils import timezone

from benchmark.models import Generation


def insert(rows: Sequence[Generation]) -> list[Generation]:
    """Insert the rows and set their keys; returns those that are new.

    A row whose step is stored already is left out and has no key. Raises IntegrityError for one without its item.
    """
    database, now = connections[DEFAULT_DB_ALIAS], timezone.now()
    values: list[Any] = []
    for row in rows:
        row.created_at = now
        known = vars(row)
        values += [
            field.get_db_prep_save(known[field.attname], database) if converted else known[field.attname]
            for field, converted in _columns()
        ]
    names = ", ".join(str(field.column) for field, _ in _columns())
    places = f"({', '.join(['%s'] * len(_columns()))})"
    with database.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO benchmark_generation ({names}) "  # noqa: S608  (no value is in it)
            f"VALUES {', '.join([places] * len(rows))} "
            "ON CONFLICT (work_item_id, step) DO NOTHING RETURNING work_item_id, step, id",
            values,
        )
        keys = {(item, step): key for item, step, key in cursor.fetchall()}
    new = []
    for row in rows:
        row.pk = keys.get((row.work_item_id, row.step))
        if row.pk is not None:
            row._state.adding, row._state.db = False, database.alias
            new.append(row)
    return new


@cache
def _columns() -> list[tuple["models.Field[Any, Any]", bool]]:
    """All but the key, and whether a value is another one in the database."""
    converted = (models.JSONField, models.DateTimeField)
    return [
        (field, isinstance(field, converted))
        for field in Generation._meta.concrete_fields
        if not field.primary_key
    ]
