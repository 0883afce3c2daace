"""The database that test runs keep is the one that the migrations create."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cached_fixtures import DATABASE, is_kept, migrate, migrated_database


def content(database: Path) -> list[str]:
    """Return the statements that create the tables and rows, without moments and the random salt of pseudonyms."""
    with closing(sqlite3.connect(database)) as connection:
        statements = [re.sub(r"'\d{4}-\d\d-\d\d [\d:.]+'", "''", line) for line in connection.iterdump()]
    return sorted(line for line in statements if not line.startswith('INSERT INTO "accounts_pseudonymsalt"'))


@pytest.mark.slow
def test_the_kept_database_equals_a_new_one(tmp_path: Path) -> None:
    if not is_kept():
        pytest.skip("no former test run kept a database: this one has just created it in the same way")
    migrate(tmp_path)
    assert content(migrated_database()) == content(tmp_path / DATABASE)
