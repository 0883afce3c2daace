"""Grading small programs for the tests of the judge."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import judge
from judge import Checker, Judgement, Limits

MEBIBYTE = 2**20
SMALL = Limits(time=0.5, memory=128 * MEBIBYTE, output=MEBIBYTE)

Grade = Callable[..., Judgement]
MakeTest = Callable[..., judge.Test]
Need = Callable[[str], None]


@pytest.fixture(scope="session")
def sandbox() -> judge.SandboxStatus:
    """The sandbox's status. Without a sandbox the test is skipped, but on continuous integration it fails."""
    status = judge.sandbox_status()
    if not status.available:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{status.problem}. {status.remedy}")
    return status


@pytest.fixture
def need(sandbox: judge.SandboxStatus) -> Need:
    """Skips the test where the language is not installed; on continuous integration it fails."""

    def needed(language: str) -> None:
        try:
            judge.compiler_version(language)
        except judge.ToolMissing as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))

    return needed


@pytest.fixture
def make_test(tmp_path: Path) -> MakeTest:
    """Writes one test's files."""

    def make(given: str | bytes, answer: str | bytes, name: str = "1", *, sample: bool = False) -> judge.Test:
        for suffix, content in ((".in", given), (".ans", answer)):
            (tmp_path / (name + suffix)).write_bytes(
                content.encode() if isinstance(content, str) else content
            )
        return judge.Test(name, tmp_path / f"{name}.in", tmp_path / f"{name}.ans", sample)

    return make


@pytest.fixture
def grade(sandbox: judge.SandboxStatus, make_test: MakeTest) -> Grade:
    """Grades a program on one test, without the allowance for slow languages."""

    def grade_one(
        source: str | Mapping[str, str],
        language: str = "python",
        *,
        given: str | bytes = "5\n3 1 4 1 5\n",
        answer: str | bytes = "14\n",
        limits: Limits = SMALL,
    ) -> Judgement:
        tests = [make_test(given, answer)]
        return judge.grade(source, language, tests, limits, Checker(), policy=judge.Policy.COMPAT)

    return grade_one
