"""An upgraded database has the tables of a new one, although different migrations made them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from tests.cached_fixtures import migrated_database

Table = tuple[list[str], list[str]]
"""The columns and constraints of a table, and its indexes, each in order."""


def tables_of(database: Path) -> dict[str, Table]:
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute(
            "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
    finally:
        connection.close()
    found: dict[str, Table] = {name: ([], []) for kind, name, _ in rows if kind == "table"}
    for kind, name, statement in rows:
        columns, indexes = found[name]
        if kind == "table":
            columns += definitions(statement)
        else:
            indexes.append(statement)
    return {name: (sorted(columns), sorted(indexes)) for name, (columns, indexes) in found.items()}


def definitions(statement: str) -> list[str]:
    """Return the definitions between the outer brackets of CREATE TABLE."""
    parts, depth, start = [], 0, statement.index("(") + 1
    for place, letter in enumerate(statement):
        depth += (letter == "(") - (letter == ")")
        if (letter == "," and depth == 1) or (letter == ")" and depth == 0):
            parts.append(statement[start:place].strip())
            start = place + 1
    return parts


def check_tables() -> None:
    upgraded = tables_of(Path(settings.DATABASES["default"]["NAME"]))
    new = tables_of(migrated_database())
    assert set(upgraded) == set(new)
    for name, table in new.items():
        assert upgraded[name] == table, name


def test_an_upgraded_database_has_the_tables_of_a_new_one(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_tables)
