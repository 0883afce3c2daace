"""Rows of several older versions in one database, which is migrated once for all tests of this folder."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tests.benchmark.runs.processes import use_var
from tests.upgrades import test_ledger, test_models_of_runs, test_program_scores, test_reviews

OLD_VERSIONS = (test_program_scores, test_reviews, test_models_of_runs, test_ledger)
"""Modules with the migrations `BEFORE` and a function `store_old_rows`, in the order of these migrations."""


def upgrade(var: Path) -> None:
    """Migrate a new database step by step, and store the rows of each old version at its step."""
    use_var(var)
    for version in OLD_VERSIONS:
        executor = MigrationExecutor(connection)
        # By default a new database would begin with version 1.0.
        executor.loader = MigrationLoader(connection, replace_migrations=False)
        executor.migrate(version.BEFORE)
        version.store_old_rows(executor.loader.project_state(version.BEFORE).apps)
    call_command("upgrade", stdout=io.StringIO())


def check_in(var: Path, check: Callable[[], None]) -> None:
    """Call the check with the database of `var`."""
    use_var(var)
    check()
