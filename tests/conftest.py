"""Set-up shared by all tests."""

import os
from pathlib import Path

import pytest

pytest_plugins = ["tests.imitation.fixtures", "tests.postgres", "tests.stack"]

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real problems, packages and trajectories that are not part of the project; tests skip without them."""
    folder = Path(os.environ.get("HINTBENCH_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the shared data folder {folder} is not here (set HINTBENCH_SHARED_DATA)")
    return folder
