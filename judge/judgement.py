"""What the judge is given (tests) and what it says (results of tests, judgements), with their JSON form."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from judge.limits import Limits, Policy
from judge.verdicts import Verdict


def printable(content: bytes, characters: int) -> str:
    """The first so many characters of what a program printed, with nothing in them that a database refuses."""
    return content[: 4 * characters].decode("utf-8", "replace")[:characters].replace("\0", "\ufffd")


@dataclass(frozen=True)
class Test:
    """One test: the input goes to standard input; the answer is only for the checker.

    The result keeps the first `shown` characters of the program's output.
    """

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    name: str
    input: Path
    answer: Path
    sample: bool = False
    shown: int = 2_000


@dataclass(frozen=True)
class TestResult:
    """What happened on one test.

    `time` is CPU seconds, `wall` real seconds, `memory` bytes at the peak. `exit_status` is None unless the
    program ended with one, `signal` unless a signal ended it. `message` says why the verdict is not AC.
    `message`, `output` (the first `Test.shown` characters of standard output) and `errors` (the first 2 000
    characters of standard error) may quote hidden tests: whoever shows them decides to whom.
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

    def to_json(self) -> dict[str, Any]:
        """All fields by name; `from_json` reads it."""
        return asdict(self) | {"verdict": self.verdict.value}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "TestResult":
        """The result `to_json` wrote."""
        known = {field.name: data[field.name] for field in fields(cls)}
        return cls(**known | {"verdict": Verdict(data["verdict"])})


@dataclass(frozen=True)
class Judgement:
    """The verdict on a program: that of the first test in the given order which is not AC, else AC.

    `tests` holds the results of the tests that were run, `total` counts all that were given.
    `compiler_output` is the first 4 000 characters of what the compiler said. `limits` are those the policy made of
    the problem's for the program's language.
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
        """How many tests were answered correctly."""
        return sum(test.verdict is Verdict.AC for test in self.tests)

    def to_json(self) -> dict[str, Any]:
        """All fields by name and `passed`; `from_json` reads it."""
        return asdict(self) | {
            "verdict": self.verdict.value,
            "policy": self.policy.value,
            "tests": [test.to_json() for test in self.tests],
            "passed": self.passed,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Judgement":
        """The judgement `to_json` wrote."""
        known = {field.name: data[field.name] for field in fields(cls)}
        converted = {
            "verdict": Verdict(data["verdict"]),
            "policy": Policy(data["policy"]),
            "limits": Limits(**data["limits"]),
            "tests": tuple(map(TestResult.from_json, data["tests"])),
        }
        return cls(**known | converted)
