"""Databases of older versions, each migrated once for all tests of this folder."""

from __future__ import annotations

import io
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import cached_folder, kept_folder
from tests.upgrades import (
    test_draft_warnings,
    test_ledger,
    test_models_of_runs,
    test_program_scores,
    test_reviews,
)

OLD_VERSIONS = (test_program_scores, test_reviews, test_models_of_runs, test_ledger, test_draft_warnings)
"""Modules with the migrations `BEFORE` and a function `store_old_rows`, in the order of these migrations."""

SOURCES = ("tests/upgrades/*.py",)


def version_0_1() -> Path:
    """Return the folder of a database of version 0.1 with a session."""
    return kept_folder("version-0.1", partial(run_apart, _make_version_0_1), SOURCES)


def recent_version() -> Path:
    """Return the folder of a database of the last of `OLD_VERSIONS` with rows of all of them."""
    return kept_folder(
        "recent-version", lambda var: run_apart(_make_recent_version, _copy(version_0_1(), var)), SOURCES
    )


def upgraded() -> Path:
    """Return the folder of a database of this version with rows of all `OLD_VERSIONS`."""
    return cached_folder("upgraded", lambda var: run_apart(_upgrade, _copy(recent_version(), var)))


def _copy(folder: Path, var: Path) -> Path:
    return shutil.copytree(folder, var, dirs_exist_ok=True)


def _make_version_0_1(var: Path) -> None:
    use_var(var)
    _store_rows(OLD_VERSIONS[:1])


def _make_recent_version(var: Path) -> None:
    use_var(var)
    _store_rows(OLD_VERSIONS[1:])


def _upgrade(var: Path) -> None:
    use_var(var)
    call_command("upgrade", stdout=io.StringIO())


def _store_rows(versions: tuple[Any, ...]) -> None:
    """Migrate the database step by step, and store the rows of each version at its step."""
    for version in versions:
        version.store_old_rows(_migrate(version.BEFORE).project_state(version.BEFORE).apps)


def _migrate(targets: list[tuple[str, str]]) -> MigrationLoader:
    executor = MigrationExecutor(connection)
    # By default a new database would begin with version 1.0.
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    executor.migrate(targets)
    return executor.loader
