"""The database that was migrated from old versions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmark.runs.processes import run_apart, use_var
from tests.upgrades.old_versions import upgraded


@pytest.fixture
def check_upgraded(tmp_path: Path) -> Callable[..., None]:
    """Return a function that calls a check in a process with a copy of the migrated database."""

    def check_copy(check: Callable[[], None]) -> None:
        run_apart(_check_in, shutil.copytree(upgraded(), tmp_path, dirs_exist_ok=True), check)

    return check_copy


def _check_in(var: Path, check: Callable[[], None]) -> None:
    use_var(var)
    check()
