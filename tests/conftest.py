"""Set-up shared by all tests."""

import gc
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

import judge
from accounts.roles import Role
from tests.cached_fixtures import migrated_database
from tests.missing_programs import skip_or_fail
from tests.programs import check_all_programs, fast_test

pytest_plugins = [
    "tests.fake_providers.fixtures",
    "tests.postgres",
    "tests.stack",
    "tests.s3",
    "tests.templates",
]

# The same examples in every run and no deadlines: the result of a test depends on the program alone.
hypothesis.settings.load_profile("ci")

REPOSITORY = Path(__file__).resolve().parent.parent

STACKS = ("stack", "fake_provider_stack", "supervised", "check_upgraded")
"""The fixtures with the longest set-up. Tests that share one run in the same process."""

SLOW_FIXTURES = {
    *STACKS,
    "chromium",
    "commands",
    "filled_site",
    "filled_var",
    "inspect_log",
    "postgres",
    "races",
    "run_program",
    "s3",
    "sandbox",
    "shared_data",
    "start_stack",
    "two_workers",
}
"""The fixtures that start other programs, or read large real data or libraries. Their tests are marked `slow`."""

LONG_FILES = (
    "tests/tutoring/rules/test_detectors.py",
    "tests/tutoring/studies/test_study_properties.py",
    "tests/benchmark/test_extraction.py",
    "tests/benchmark/test_rendering.py",
)
"""Files whose tests compute for more than five seconds. At the end, the other processes would wait for them."""

check_all_programs()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Check the programs that a fast test starts in its set-up and its call."""
    with fast_test("" if item.get_closest_marker("slow") else item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Check no programs: the last test of a session also ends the servers of slow tests."""
    with fast_test(""):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without the garbage collector: what a collection creates lives until the end of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)  # as in manage.py: tests create many objects and little garbage
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Leave the objects of the tests to the end of the process: pytest would search them for garbage for seconds."""
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark slow tests, and group and sort tests for several processes.

    The tests of a file run in one process, and so do all files that share a stack. Stacks come first because their
    tests mostly wait; files that judge programs or start commands follow and use the processor meanwhile. Short files
    end the run, so all processes finish at about the same time.
    """
    groups: dict[str, str] = {}
    judging: set[str] = set()
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        file = item.location[0]
        if fixtures & SLOW_FIXTURES:
            item.add_marker(pytest.mark.slow)
        used = [name for name in STACKS if name in fixtures]
        groups[file] = min([*used, groups.get(file, file)], key=rank)
        if fixtures & {"sandbox", "commands"}:
            judging.add(file)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[item.location[0]]))
    yield
    first = judging.union(LONG_FILES)
    items.sort(key=lambda item: (rank(groups[item.location[0]]), item.location[0] not in first))


def rank(group: str) -> int:
    """Return the place of a group in the order of execution."""
    return STACKS.index(group) if group in STACKS else len(STACKS)


@pytest.fixture(scope="session")
def sandbox() -> judge.SandboxStatus:
    """Return the status of the sandbox. Without a sandbox the test is skipped; under CI=true it fails."""
    status = judge.sandbox_status()
    if not status.available:
        skip_or_fail(f"{status.problem}. {status.remedy}")
    return status


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Set up the database of this process: a copy of the migrated database in memory."""
    with django_db_blocker.unblock(), closing(sqlite3.connect(migrated_database())) as migrated:
        connection.ensure_connection()
        migrated.backup(connection.connection)


@pytest.fixture(scope="module")
def module_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[DjangoDbBlocker]:
    """Keep rows for all tests of a module: fixtures of this scope create them in `with module_rows.unblock():`.

    Each test rolls back to these rows, and the end of the module removes them. Every test of the module may see them,
    and none may have the fixture `transactional_db`.
    """
    rows = transaction.atomic()
    # As in the block of each test, durable blocks may begin inside.
    rows._from_testcase = True  # type: ignore[attr-defined]
    with django_db_blocker.unblock():
        rows.__enter__()
    yield django_db_blocker
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        rows.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def machine_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this machine the factor 1 without a measurement, so that limits do not depend on its load."""
    speed = judge.MachineSpeed(judge.host_name(), 1.0, 0.0, {})
    monkeypatch.setattr("judge.measure_speed", lambda: speed)


@pytest.fixture
def visitors(db: None) -> dict[str, Client]:
    """Return a client for nobody, one for an account without a role, and one for each role."""
    clients = {"nobody": Client()}
    for name in ("roleless", *Role):
        user = User.objects.create_user(name)
        user.groups.set(Group.objects.filter(name=name))
        clients[name] = Client()
        clients[name].force_login(user)
    return clients


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the folder of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return a folder of real problems, packages and trajectories outside the repository; skip the test without it."""
    folder = Path(os.environ.get("HINTBENCH_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the folder {folder} of shared data does not exist (set HINTBENCH_SHARED_DATA)")
    return folder
