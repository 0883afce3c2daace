"""A command sandbox with our tagged problems and 47 questions about them."""

import shutil
from pathlib import Path

import pytest

from tests.benchmark.runs.conftest import Workshop
from tests.benchmark.runs.processes import run_apart
from tests.benchmark.similarity.tagged import make_tagged
from tests.imitation import Imitation
from tests.made_once import made_once, with_tables


@pytest.fixture(scope="session")
def tagged_var() -> Path:
    """A HINTBENCH_VAR with the tagged problems and the questions."""
    return made_once("tagged", lambda var: run_apart(make_tagged, with_tables(var)))


@pytest.fixture
def workshop(tagged_var: Path, tmp_path: Path, imitation: Imitation) -> Workshop:
    var = tmp_path / "var"
    shutil.copytree(tagged_var, var)
    return Workshop(var, imitation)
