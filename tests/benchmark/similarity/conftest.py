"""A sandbox with our tagged problems and 47 questions about them."""

import shutil
from pathlib import Path

import pytest

from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart
from tests.benchmark.similarity.tagged import make_tagged
from tests.cached_fixtures import add_database, cached_folder
from tests.fake_providers import FakeProviders


@pytest.fixture(scope="session")
def tagged_var() -> Path:
    """A HINTBENCH_VAR with them."""
    return cached_folder("tagged", lambda var: run_apart(make_tagged, add_database(var)))


@pytest.fixture
def commands(tagged_var: Path, tmp_path: Path, fake_providers: FakeProviders) -> CommandSandbox:
    var = tmp_path / "var"
    shutil.copytree(tagged_var, var)
    return CommandSandbox(var, fake_providers)
