"""Set-up shared by all tests."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

import judge
from tests.cached_fixtures import migrated_database

pytest_plugins = ["tests.fake_providers.fixtures", "tests.postgres", "tests.stack"]

# The same examples every time and no deadlines: whether a test passes hangs on the program alone.
hypothesis.settings.load_profile("ci")

REPOSITORY = Path(__file__).resolve().parent.parent


STACKS = ("stack", "fake_provider_stack", "supervised", "commands")
"""The fixtures that take longest to set up."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Spread over several processes, the tests of a file stay together, and so do all files that share a stack.

    Those come first, for they wait more than they compute; then the files that judge programs, which compute meanwhile.
    None of either is left over for one process at the end.
    """
    groups: dict[str, str] = {}
    judging: set[str] = set()
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        used = [name for name in STACKS if name in fixtures]
        groups[item.location[0]] = min([*used, groups.get(item.location[0], item.location[0])], key=rank)
        if "sandbox" in fixtures:
            judging.add(item.location[0])
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[item.location[0]]))
    yield
    items.sort(key=lambda item: (rank(groups[item.location[0]]), item.location[0] not in judging))


def rank(group: str) -> int:
    return STACKS.index(group) if group in STACKS else len(STACKS)


@pytest.fixture(scope="session")
def sandbox() -> judge.SandboxStatus:
    """The sandbox's status. Without a sandbox the test is skipped, but on continuous integration it fails."""
    status = judge.sandbox_status()
    if not status.available:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{status.problem}. {status.remedy}")
    return status


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> None:
    """This process's database: a copy of the migrated one, in memory."""
    with django_db_blocker.unblock(), closing(sqlite3.connect(migrated_database())) as migrated:
        connection.ensure_connection()
        migrated.backup(connection.connection)


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
