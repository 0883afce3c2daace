"""Lock files and scripts: every requirement is pinned, no package index is named, and the shell is POSIX."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.stack import REPOSITORY

PAIRS = [("requirements.txt", "requirements.lock"), ("requirements-dev.txt", "requirements-dev.lock")]


def requirements(path: Path) -> list[Requirement]:
    """Return the requirements of a requirements file or lock file."""
    lines = path.read_text().replace(" \\\n", "").splitlines()
    texts = [line.partition(" #")[0].partition(" --hash=")[0].strip() for line in lines]
    return [Requirement(text) for text in texts if text and not text.startswith("#")]


def pins(lock: str) -> dict[str, str]:
    return {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry in requirements(REPOSITORY / lock)
    }


@pytest.mark.parametrize(("source", "lock"), PAIRS)
def test_every_requirement_is_pinned_to_a_version_it_allows(source: str, lock: str):
    pinned = pins(lock)
    for requirement in requirements(REPOSITORY / source):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{lock} lacks {requirement.name}: run scripts/lock"
        assert requirement.specifier.contains(version), f"{lock} is older than {source}: run scripts/lock"


def test_running_and_testing_use_the_same_versions():
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


@pytest.mark.parametrize("lock", [lock for _, lock in PAIRS])
def test_every_entry_is_an_exact_version_with_hashes_and_no_index_is_named(lock: str):
    text = (REPOSITORY / lock).read_text()
    for entry in text.replace(" \\\n", "").splitlines():
        if not entry.lstrip().startswith("#"):
            pattern = r"[a-z0-9._-]+(\[[a-z0-9,_-]+\])?==[^\s;]+( ; .+?)?(\s+--hash=sha256:[0-9a-f]{64})+"
            assert re.fullmatch(pattern, entry), entry
    assert "://" not in text


@pytest.mark.parametrize("script", ["run", "test", ".ci/run", "scripts/environment.sh", "scripts/lock"])
def test_the_scripts_are_posix_shell(script: str):
    shell = shutil.which("dash") or "sh"
    subprocess.run([shell, "-n", script], cwd=REPOSITORY, check=True)


def test_an_old_python_is_refused_with_what_to_install(tmp_path: Path):
    """`find_python` finds only a python3 whose version is 3.10."""
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.10.12 && exit\nexit 1\n')
    old.chmod(0o755)
    shell = shutil.which("sh") or "/bin/sh"
    refused = subprocess.run(
        [shell, "-c", ". scripts/environment.sh; find_python"],
        cwd=REPOSITORY,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "needs Python 3.11 or newer; found: Python 3.10.12" in refused.stderr
    assert "sudo apt-get install -y python3.11 python3.11-venv" in refused.stderr
