"""The kill matrix of a suite (known programs by tests), with its rates, kill curve and minimal suite."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.metrics.pass_at_k import mean_pass_at_k
from benchmark.models.suites import Rate, rate
from judge import Verdict

_NO_FAILURE = (Verdict.AC, None)


@dataclass(frozen=True)
class TriedProgram:
    """A known program and its verdict on each test; None for tests skipped after too many timeouts.

    `expected` are the known verdicts of a wrong program.
    """

    name: str
    language: str
    right: bool
    expected: tuple[str, ...]
    verdicts: tuple[Verdict | None, ...]
    judgement: int | None = None

    @property
    def accepted(self) -> bool:
        """Whether the program passed every test."""
        return all(verdict is Verdict.AC for verdict in self.verdicts)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the first failed test, otherwise AC."""
        return next((verdict for verdict in self.verdicts if verdict not in _NO_FAILURE), Verdict.AC)

    @property
    def killers(self) -> tuple[int, ...]:
        """The indices of the tests that the program is known to fail."""
        return tuple(index for index, verdict in enumerate(self.verdicts) if verdict not in _NO_FAILURE)

    @property
    def not_tried(self) -> int:
        """The number of tests without a verdict."""
        return self.verdicts.count(None)


@dataclass(frozen=True)
class KillMatrix:
    """Known programs by tests: the samples first, then the tests of the suite."""

    tests: tuple[str, ...]
    programs: tuple[TriedProgram, ...]

    def __post_init__(self) -> None:
        if any(len(program.verdicts) != len(self.tests) for program in self.programs):
            raise ValueError("every program of a kill matrix has a verdict on every test")

    @property
    def right(self) -> list[TriedProgram]:
        """The known right programs."""
        return [program for program in self.programs if program.right]

    @property
    def wrong(self) -> list[TriedProgram]:
        """The known wrong programs."""
        return [program for program in self.programs if not program.right]

    @property
    def survivors(self) -> list[TriedProgram]:
        """Wrong programs that pass every test: false positives."""
        return [program for program in self.wrong if program.accepted]

    @property
    def refused(self) -> list[TriedProgram]:
        """Right programs that fail some test: false negatives."""
        return [program for program in self.right if not program.accepted]

    @property
    def cut_off(self) -> list[TriedProgram]:
        """Programs without a verdict on some test."""
        return [program for program in self.programs if program.not_tried]

    @property
    def true_positive_rate(self) -> Rate | None:
        """The share of right programs that pass; None without right programs."""
        return rate(len(self.right) - len(self.refused), len(self.right))

    @property
    def true_negative_rate(self) -> Rate | None:
        """The share of wrong programs that fail; None without wrong programs."""
        return rate(len(self.wrong) - len(self.survivors), len(self.wrong))

    def kill_curve(self) -> list[float]:
        """Return the expected share of wrong programs that fail 1 to n tests drawn at random without replacement.

        A program that fails k of n tests passes s of them with probability C(n-k, s)/C(n, s), the formula of pass@k.
        Tests without a verdict count as passed, so the shares are lower bounds. Empty without wrong programs or tests.
        """
        counts = [(len(self.tests), len(program.killers)) for program in self.wrong]
        return [mean_pass_at_k(counts, size) for size in range(1, len(self.tests) + 1)] if counts else []

    def minimal_suite(self) -> list[int]:
        """Return the indices of tests that kill every wrong program that any test kills.

        Greedy (Chvátal 1979): each step chooses the test that kills most remaining programs, the first one if equal.
        """
        left = {index: set(program.killers) for index, program in enumerate(self.wrong) if program.killers}
        chosen: list[int] = []
        while left:
            kills = [sum(test in killers for killers in left.values()) for test in range(len(self.tests))]
            best = kills.index(max(kills))
            chosen.append(best)
            left = {index: killers for index, killers in left.items() if best not in killers}
        return chosen

    def to_json(self) -> dict[str, Any]:
        """Return all figures and all verdicts, without contents of tests."""
        rates = {"tpr": self.true_positive_rate, "tnr": self.true_negative_rate}
        return {
            **{name: rate.to_json() if rate else None for name, rate in rates.items()},
            "tests": list(self.tests),
            "programs": [
                {
                    "name": program.name,
                    "language": program.language,
                    "right": program.right,
                    "expected": list(program.expected),
                    "verdict": program.verdict.value,
                    "killed_by": len(program.killers),
                    "not_tried": program.not_tried,
                    "verdicts": [verdict and verdict.value for verdict in program.verdicts],
                }
                for program in self.programs
            ],
            "kill_curve": self.kill_curve(),
            "minimal_suite": [self.tests[index] for index in self.minimal_suite()],
        }


def mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of several kill curves, as long as the shortest one; empty without curves."""
    shortest = min(map(len, curves), default=0)
    return [sum(curve[size] for curve in curves) / len(curves) for size in range(shortest)]
