"""`manage.py upgrade` of a database of version 0.1, and the way back."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from benchmark.models import Backup
from config.backups import verify
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import cached_folder
from tests.upgrades import test_program_scores
from tutoring.models import Session


def make_old(var: Path) -> None:
    """Create a database of version 0.1 with a session."""
    use_var(var)
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    executor.migrate(test_program_scores.BEFORE)
    test_program_scores.store_old_rows(executor.loader.project_state(test_program_scores.BEFORE).apps)


def migrations() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def upgrade_and_go_back(var: Path) -> None:
    use_var(var)
    old = migrations()
    out = io.StringIO()
    call_command("upgrade", stdout=out)
    text = out.getvalue()
    applied = re.search(r"Applied (\d+) migrations\.", text)
    assert applied, text
    assert int(applied[1]) > 20
    assert f"The database has version {settings.VERSION}" in text
    assert ("tutoring", "0036_withdrawals") in migrations()
    assert Session.objects.get().pk == test_program_scores.SESSION
    backup = Path(Backup.objects.get().folder)
    assert backup.parent == settings.VAR / "backups"
    assert set(verify(backup).migrations) == old

    command = re.search(r"manage\.py (restore .*)", text)
    assert command, text
    words = command[1].split()
    call_command(*words, stdout=out)
    assert migrations() == old
    call_command("upgrade", stdout=out)
    assert Session.objects.get().pk == test_program_scores.SESSION


def fail_in_migration(var: Path) -> None:
    use_var(var)
    old = migrations()
    failing = patch("config.management.commands.upgrade.call_command", side_effect=DatabaseError("a lock"))
    with failing, pytest.raises(CommandError, match=r"(?s)The upgrade failed: a lock.*restore .* --replace"):
        call_command("upgrade", stdout=io.StringIO())
    assert migrations() == old
    with (
        patch("config.management.commands.upgrade.write_backup", side_effect=OSError("the disk is full")),
        pytest.raises(CommandError, match="Nothing was changed: the disk is full"),
    ):
        call_command("upgrade", stdout=io.StringIO())
    counts = patch("config.management.commands.upgrade._rows", return_value=7)
    with counts, pytest.raises(CommandError, match="tutoring_session had 1 rows and has 7"):
        call_command("upgrade", stdout=io.StringIO())


@pytest.mark.slow
@pytest.mark.parametrize("check", [upgrade_and_go_back, fail_in_migration])
def test_upgrade_of_version_0_1(tmp_path: Path, check: Callable[[Path], None]):
    old = cached_folder("version-0.1", partial(run_apart, make_old))
    run_apart(check, shutil.copytree(old, tmp_path, dirs_exist_ok=True))
