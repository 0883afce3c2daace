"""The database that was migrated from old versions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmark.runs.processes import run_apart
from tests.cached_fixtures import cached_folder
from tests.upgrades.old_versions import check_in, upgrade


@pytest.fixture
def check_upgraded(tmp_path: Path) -> Callable[..., None]:
    """Return a function that calls a check in a process with a copy of the migrated database."""

    def check_copy(check: Callable[[], None]) -> None:
        upgraded = cached_folder("upgraded", lambda var: run_apart(upgrade, var))
        shutil.copytree(upgraded, tmp_path, dirs_exist_ok=True)
        run_apart(check_in, tmp_path, check)

    return check_copy
