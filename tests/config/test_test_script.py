"""./test: which checks and tests it runs for which arguments."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmark.runs.processes import FORKS
from tests.programs import check_program, fast_test
from tests.stack import REPOSITORY

PROGRAMS = ("python", "ruff", "lint-imports", "vulture", "deptry", "mypy", "pytest")


def commands_of(tmp_path: Path, *arguments: str) -> list[str]:
    """Return the commands that ./test runs, from a copy whose programs only print their command line."""
    (tmp_path / "scripts").mkdir()
    for name in ("test", "scripts/environment.sh", "requirements-dev.lock"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*"\n')
        (programs / name).chmod(0o755)
    (programs / "uv").symlink_to("/bin/true")
    result = subprocess.run(
        ["./test", *arguments],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = result.stdout.splitlines()
    return [line for line in lines if line.startswith(PROGRAMS) and not line.startswith("python -c")]


def test_without_arguments_every_check_and_test_runs(tmp_path: Path):
    *checks, tests = commands_of(tmp_path)
    assert [line.split()[0] for line in checks] == [
        "python", "ruff", "ruff", "lint-imports", "vulture", "deptry", "deptry", "mypy",
    ]  # fmt: skip
    assert checks[0] == "python -m config.system_packages"
    assert tests.startswith("pytest -n ")
    assert "slow" not in tests


def test_fast_runs_every_check_and_leaves_out_slow_tests(tmp_path: Path):
    fast = commands_of(tmp_path, "--fast")
    assert fast[-1].startswith("pytest -n ")
    assert " -m not slow " in fast[-1]
    assert "mypy ." in fast


def test_other_arguments_go_to_pytest_alone(tmp_path: Path):
    assert commands_of(tmp_path, "-x", "tests/judge") == ["pytest -x tests/judge"]


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run([sys.executable, "manage.py"], check=True),
        lambda: subprocess.Popen("/usr/bin/bwrap"),
        lambda: asyncio.run(asyncio.create_subprocess_exec("setpriv", "--", "valkey-server")),
        lambda: FORKS.Process(target=print).start(),
    ],
    ids=["interpreter", "sandbox", "server", "process of a command"],
)
def test_a_fast_test_that_starts_another_program_fails(start: Callable[[], object]):
    with fast_test("test_of_a_page"), pytest.raises(pytest.fail.Exception, match="Add the mark `slow`"):
        start()


def test_small_programs_and_shared_set_up_are_allowed():
    subprocess.run(["true"], check=True)
    check_program([sys.executable, "-I", "-c", ""])
    with fast_test(""):
        check_program([sys.executable])


@pytest.mark.slow
def test_fast_tests_start_no_stack_browser_server_command_or_sandbox():
    files = (
        "tests/browser/test_layout.py",
        "tests/tutoring/test_live.py",
        "tests/tutoring/test_races.py",
        "tests/benchmark/runs/test_postgres.py",
        "tests/benchmark/runs/test_run_baseline.py",
        "tests/judge/test_hostile.py",
        "tests/judge/test_checkers.py",
        "tests/config/test_supervisor.py",
    )
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-m", "not slow", *files],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    picked = {line.partition("::")[0] for line in collected.splitlines() if "::" in line}
    assert picked == {"tests/judge/test_checkers.py", "tests/config/test_supervisor.py"}
    assert "test_a_queue_server_on_another_host_needs_tls_and_a_password" in collected
    assert "test_it_starts_after_a_kill" not in collected
    assert "test_a_port_in_use" not in collected
