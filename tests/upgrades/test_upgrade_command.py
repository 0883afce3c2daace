"""`manage.py upgrade` of databases of old versions, and the way back."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from benchmark.models import Backup, Process
from benchmark.processes import Heartbeat
from config.backups import verify
from config.supervisor import exclusive_lock
from tests.benchmark.runs.processes import run_apart, use_var
from tests.upgrades import test_program_scores
from tests.upgrades.old_versions import recent_version, version_0_1
from tutoring.models import Session

UPGRADE = "config.management.commands.upgrade"


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

    go_back(text)
    assert migrations() == old


def go_back(text: str) -> None:
    """Execute the command that the upgrade printed."""
    command = re.search(r"manage\.py (restore .*)", text)
    assert command, text
    call_command(*command[1].split(), stdout=io.StringIO())


def upgrade_again_after_the_way_back(var: Path) -> None:
    use_var(var)
    old, sessions = migrations(), set(Session.objects.values_list("pk", flat=True))
    out = io.StringIO()
    call_command("upgrade", stdout=out)
    go_back(out.getvalue())
    assert migrations() == old
    call_command("upgrade", stdout=io.StringIO())
    assert migrations() > old
    assert test_program_scores.SESSION in sessions
    assert set(Session.objects.values_list("pk", flat=True)) == sessions


def content() -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables, with the applied migrations, and without logins, which a restore ends."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if "session" not in table or table.startswith(("tutoring_", "benchmark_")):
                cursor.execute(f'SELECT * FROM "{table}"')
                found[table] = sorted(cursor.fetchall(), key=repr)
    return found


def fail_and_go_back(var: Path) -> None:
    """Make a migration in the middle of the upgrade fail, and execute the command that the error message contains."""
    use_var(var)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE benchmark_growthcurve (id integer)")
    before, old = content(), migrations()
    with pytest.raises(CommandError, match=r"The upgrade failed: .*benchmark_growthcurve") as failed:
        call_command("upgrade", stdout=io.StringIO())
    assert migrations() > old
    go_back(str(failed.value))
    assert migrations() == old
    assert content() == before


def fail_in_checks_after_the_migration(var: Path) -> None:
    use_var(var)
    before, sessions = content(), Session.objects.count()
    for failing, reason in (
        (patch(f"{UPGRADE}.record", side_effect=OSError("the disk is full")), "the disk is full"),
        (patch(f"{UPGRADE}._rows", return_value=7), f"tutoring_session had {sessions} rows and has 7"),
    ):
        with failing, pytest.raises(CommandError, match=f"The upgrade failed: {reason}") as failed:
            call_command("upgrade", stdout=io.StringIO())
        go_back(str(failed.value))
        assert content() == before


def refuse(reason: str) -> None:
    """Assert that the upgrade is refused and that no row is changed."""
    before = content()
    with pytest.raises(CommandError, match=f"Nothing was changed: .*{reason}"):
        call_command("upgrade", stdout=io.StringIO())
    assert content() == before


def refuse_unless_the_site_is_stopped(var: Path) -> None:
    use_var(var)
    with patch(f"{UPGRADE}.write_backup", side_effect=OSError("the disk is full")):
        refuse("the disk is full")
    with exclusive_lock(var):
        refuse("already running")
    call_command("upgrade", backup=var / "elsewhere", stdout=io.StringIO())
    assert Path(Backup.objects.get().folder).parent == var / "elsewhere"
    assert not (var / "backups").exists()
    Heartbeat(Process.Kind.STREAMER).send("")
    refuse("Stop all processes first: streamer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "check"),
    [
        (version_0_1, upgrade_and_go_back),
        (recent_version, upgrade_again_after_the_way_back),
        (version_0_1, fail_and_go_back),
        (recent_version, fail_in_checks_after_the_migration),
        (recent_version, refuse_unless_the_site_is_stopped),
    ],
)
def test_upgrades(tmp_path: Path, version: Callable[[], Path], check: Callable[[Path], None]):
    run_apart(check, shutil.copytree(version(), tmp_path, dirs_exist_ok=True))
