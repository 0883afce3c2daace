"""Fixtures that grade small programs."""

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import judge
from judge import Checker, Judgement, Limits
from judge.sandbox.discovery import open_sandbox
from tests.judge.corpus import Program
from tests.missing_programs import skip_or_fail

MEBIBYTE = 2**20
SMALL = Limits(time=0.5, memory=128 * MEBIBYTE, output=MEBIBYTE)

_BECOME_SUBREAPER = 36
_LONGEST_DEATH = 20.0  # seconds from the end of a killed judge to that of its container, on a busy machine

Grade = Callable[..., Judgement]
MakeTest = Callable[..., judge.Test]
Need = Callable[[str], None]


@pytest.fixture
def need(sandbox: judge.SandboxStatus) -> Need:
    """Return a function that skips the test if the language is not installed; in continuous integration it fails."""

    def needed(language: str) -> None:
        try:
            judge.compiler_version(language)
        except judge.ToolMissingError as error:
            skip_or_fail(str(error))

    return needed


@pytest.fixture
def make_test(tmp_path: Path) -> MakeTest:
    """Return a function that writes the files of one test."""

    def make(given: str | bytes, answer: str | bytes, name: str = "1", *, sample: bool = False) -> judge.Test:
        for suffix, content in ((".in", given), (".ans", answer)):
            (tmp_path / (name + suffix)).write_bytes(
                content.encode() if isinstance(content, str) else content
            )
        return judge.Test(name, tmp_path / f"{name}.in", tmp_path / f"{name}.ans", sample)

    return make


@pytest.fixture
def grade(sandbox: judge.SandboxStatus, make_test: MakeTest) -> Grade:
    """Return a function that grades a program on equal tests with published limits."""

    def grade_one(
        source: str | Mapping[str, str],
        language: str = "python",
        *,
        given: str | bytes = "5\n3 1 4 1 5\n",
        answer: str | bytes = "14\n",
        limits: Limits = SMALL,
        times: int = 1,
        fork_server: bool = True,
        **options: Any,
    ) -> Judgement:
        return grade_tests(
            source,
            language,
            [make_test(given, answer)] * times,
            limits,
            Checker(),
            policy=judge.Policy.COMPAT,
            stop_at_first_failure=False,
            fork_server=fork_server,
            **options,
        )

    return grade_one


def grade_tests(
    source: str | Mapping[str, str],
    language: str,
    tests: Sequence[judge.Test],
    limits: Limits,
    checker: Checker,
    *,
    files: judge.FileNames | None = None,
    on_test: Callable[[judge.TestResult], None] | None = None,
    **options: Any,
) -> Judgement:
    """Judge a program on these tests; `options` are those of `judge.GradingOptions`."""
    return judge.grade(
        judge.Submission(source, language),
        judge.Problem(tests, limits, checker, files),
        judge.GradingOptions(**options),
        on_test=on_test,
    )


def grade_in_all_ways(grade: Grade, program: Program, **options: Any) -> list[Judgement]:
    """Grade a program; a Python program with the fork server and with a normal start."""
    ways = [True, False] if program.language == "python" else [False]
    return [
        grade(program.source, program.language, limits=program.limits, fork_server=fork_server, **options)
        for fork_server in ways
    ]


def skip_without(language: str) -> None:
    """Skip the test if the language cannot be judged here; in continuous integration, fail."""
    try:
        judge.get_language(language).tool()
    except judge.ToolMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture
def nothing_left(
    sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Assert that the test leaves no process, no temporary file and no control group."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("JUDGE_TEMPORARY", str(temporary))
    libc = ctypes.CDLL(None)
    assert (
        libc.prctl(_BECOME_SUBREAPER, 1, 0, 0, 0) == 0
    )  # orphans become children of this process, which finds them
    open_sandbox().close()
    before, groups = _descendants(), _control_groups()
    yield
    open_sandbox().close()
    libc.prctl(_BECOME_SUBREAPER, 0, 0, 0, 0)
    end = time.monotonic() + _LONGEST_DEATH
    while _descendants() - before and time.monotonic() < end:
        time.sleep(0.01)
    assert _descendants() - before == set()
    assert list(temporary.iterdir()) == []
    assert _control_groups() - groups == set()


def _control_groups() -> set[str]:
    """Return the control groups of this process's containers."""
    return {folder for folder, *_ in os.walk("/sys/fs/cgroup") if f"/judge-{os.getpid()}-" in folder}


def _descendants() -> set[int]:
    """Return the living descendants of this process."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        try:
            status = (folder / "stat").read_text() if folder.name.isdigit() else ""
        except OSError:  # the process has ended
            continue
        if status:
            state, parent = status.rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(folder.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found
