"""Temporary folders lie where the settings say, and those of killed judges are removed."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from judge.cache import remove_abandoned_folders, temporary_folder
from judge.cache.temporary_folders import temporary_parent


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    monkeypatch.setenv("JUDGE_TEMPORARY", str(folder))
    return folder


def test_within_the_project_temporary_folders_lie_below_the_folder_for_all_data() -> None:
    assert temporary_parent() == settings.JUDGE_TEMPORARY
    assert settings.JUDGE_TEMPORARY.is_relative_to(settings.VAR)


def test_a_folder_is_named_after_its_process_and_lives_as_long_as_its_block(parent: Path) -> None:
    with temporary_folder("run") as folder:
        assert folder.parent == parent
        assert folder.name.startswith(f"judge-{os.getpid()}-run-")
        remove_abandoned_folders()
        assert folder.is_dir()
    assert list(parent.iterdir()) == []


def test_folders_of_killed_judges_are_removed_unless_another_container_uses_them(parent: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = f"judge-{ended.pid}-run-a", f"judge-{ended.pid}-run-b", f"judge-{os.getpid()}-run-c", "other"
    for name in names:
        (parent / name / "inside").mkdir(parents=True)
    descriptor = os.open(parent / names[1], os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    remove_abandoned_folders()
    os.close(descriptor)
    assert sorted(folder.name for folder in parent.iterdir()) == sorted(names[1:])
