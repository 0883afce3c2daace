"""`manage.py upgrade` of databases of old versions, and the way back."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from benchmark.models import Backup
from config.backups import verify
from tests.benchmark.runs.processes import run_apart, use_var
from tests.upgrades import test_program_scores
from tests.upgrades.old_versions import recent_version, version_0_1
from tutoring.models import Session


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
    with (
        patch("config.management.commands.upgrade.record", side_effect=OSError("the disk is full")),
        pytest.raises(CommandError, match=r"(?s)The upgrade failed: the disk is full.*restore .* --replace"),
    ):
        call_command("upgrade", stdout=io.StringIO())
    sessions = Session.objects.count()
    counts = patch("config.management.commands.upgrade._rows", return_value=7)
    with counts, pytest.raises(CommandError, match=f"tutoring_session had {sessions} rows and has 7"):
        call_command("upgrade", stdout=io.StringIO())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "check"),
    [
        (version_0_1, upgrade_and_go_back),
        (recent_version, upgrade_again_after_the_way_back),
        (recent_version, fail_in_migration),
    ],
)
def test_upgrades(tmp_path: Path, version: Callable[[], Path], check: Callable[[Path], None]):
    run_apart(check, shutil.copytree(version(), tmp_path, dirs_exist_ok=True))
