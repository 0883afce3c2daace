"""Tests, results of tests and judgements, with their JSON form."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from judge.records.limits import NEAR_LIMIT, Limits, Policy
from judge.records.verdicts import Verdict


@dataclass(frozen=True)
class Test:
    """One test: the input goes to standard input; only the checker reads the answer.

    The result keeps the first `shown` characters of the program's output.
    """

    __test__ = False  # keeps pytest from collecting this class

    name: str
    input: Path
    answer: Path
    sample: bool = False
    shown: int = 2_000


@dataclass(frozen=True)
class TestResult:
    """The result of one test.

    `time` is CPU seconds, `wall` real seconds, `memory` bytes at the peak. `exit_status` is None unless the
    program ended with one, `signal` unless a signal ended it. `message` gives the reason for a verdict other than AC.
    `message`, `output` (the first `Test.shown` characters of standard output) and `errors` (the first 2 000
    characters of standard error) may quote hidden tests: callers that display them must check the reader's rights.
    """

    __test__ = False

    name: str
    verdict: Verdict
    time: float
    wall: float
    memory: int
    exit_status: int | None
    signal: int | None
    message: str
    output: str
    errors: str
    sample: bool

    def is_near(self, time_limit: float) -> bool:
        """Return whether the verdict is AC or TLE with a time near the limit in CPU seconds, by at most NEAR_LIMIT.

        A program that was stopped at its limit may need any time, so only programs that ended by themselves count.
        """
        ended = self.exit_status is not None or self.signal is not None
        timed = self.verdict is Verdict.AC or (self.verdict is Verdict.TLE and ended)
        return timed and abs(self.time - time_limit) <= NEAR_LIMIT * time_limit

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name, as `from_json` reads them."""
        return asdict(self) | {"verdict": self.verdict.value}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "TestResult":
        """Return the result that `to_json` wrote."""
        known = {field.name: data[field.name] for field in fields(cls)}
        return cls(**known | {"verdict": Verdict(data["verdict"])})


@dataclass(frozen=True)
class Judgement:
    """The verdict on a submission: that of the first test in the given order which is not AC, else AC.

    `tests` holds the results of the tests that were run, `total` counts all tests of the problem.
    `compiler_output` is the first 4 000 characters of the compiler's messages. `limits` are the problem's limits as
    the policy applies them to the language. `judge_version`, `isolation` and `compiler` record the environment.
    """

    verdict: Verdict
    tests: tuple[TestResult, ...]
    total: int
    compiler_output: str
    policy: Policy
    limits: Limits
    judge_version: str
    isolation: str
    compiler: str

    @property
    def passed(self) -> int:
        """The number of tests with the verdict AC."""
        return sum(test.verdict is Verdict.AC for test in self.tests)

    @property
    def near_limit(self) -> bool:
        """Whether a slightly different time would have changed the verdict.

        An accepted program is near the limit if one of its tests is, a program with TLE if all its tests with TLE are.
        """
        near = [test.is_near(self.limits.time) for test in self.tests if test.verdict is self.verdict]
        if self.verdict is Verdict.AC:
            return any(near)
        return self.verdict is Verdict.TLE and all(near)

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name, `passed` and `near_limit`; `from_json` reads the fields."""
        return asdict(self) | {
            "verdict": self.verdict.value,
            "policy": self.policy.value,
            "tests": [test.to_json() for test in self.tests],
            "passed": self.passed,
            "near_limit": self.near_limit,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Judgement":
        """Return the judgement that `to_json` wrote."""
        known = {field.name: data[field.name] for field in fields(cls)}
        converted = {
            "verdict": Verdict(data["verdict"]),
            "policy": Policy(data["policy"]),
            "limits": Limits(**data["limits"]),
            "tests": tuple(map(TestResult.from_json, data["tests"])),
        }
        return cls(**known | converted)
