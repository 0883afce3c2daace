"""A workshop with our tagged problems and 47 questions about them."""

import shutil
from pathlib import Path

import pytest

from tests.benchmark.runs.conftest import Workshop
from tests.benchmark.runs.processes import FORKS
from tests.benchmark.similarity.tagged import make_tagged
from tests.imitation import Imitation


@pytest.fixture(scope="session")
def tagged_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HINTBENCH_VAR with them, made once."""
    var = tmp_path_factory.mktemp("tagged") / "var"
    var.mkdir()
    making = FORKS.Process(target=make_tagged, args=(var,))
    making.start()
    making.join()
    assert making.exitcode == 0
    return var


@pytest.fixture
def workshop(tagged_var: Path, tmp_path: Path, imitation: Imitation) -> Workshop:
    var = tmp_path / "var"
    shutil.copytree(tagged_var, var)
    return Workshop(var, imitation)
