"""Calibration: the factors of a package's time limits at which all verdicts agree with the labels.

Every submission is judged once, with `SEARCHED` times its limit. From the times of its tests follows the verdict that
each smaller limit would give.
"""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

from judge.grading import GradingOptions
from judge.packages import LabelledSubmission, Package
from judge.records import Verdict
from judge.speed import LARGEST_FACTOR
from judge.verification.planning import PackageWork, Skipped
from judge.verification.verifying import (
    DerivedLimit,
    derive_limits,
    grade_labelled,
    time_multipliers,
    wait,
    without_limit,
)

SEARCHED = LARGEST_FACTOR
"""The largest factor that is tried."""


@dataclass(frozen=True)
class Bound:
    """A submission with the share of its time limit that it needs; infinite above `SEARCHED`.

    The label holds at factors of at least `ratio` (`fast` is True), or at smaller ones.
    """

    package: str
    submission: LabelledSubmission
    ratio: float
    fast: bool

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the command's JSON output."""
        ratio = round(self.ratio, 4) if math.isfinite(self.ratio) else None
        return {"package": self.package, "file": self.submission.name, "ratio": ratio}


@dataclass(frozen=True)
class FactorRange:
    """The factors from the ratio of `lower` to below the ratio of `upper`, at which all labels of packages agree.

    Both are None if no submission decides them. `disagreeing` have labels that hold at no factor up to `SEARCHED`.
    """

    lower: Bound | None
    upper: Bound | None
    disagreeing: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no factor satisfies all labels."""
        crossed = self.lower and self.upper and self.lower.ratio >= self.upper.ratio
        return bool(self.disagreeing or crossed)

    def to_json(self) -> dict[str, Any]:
        """Return the range with the submissions that decide it."""
        return {
            "agrees": not self.is_empty,
            "lower": self.lower.to_json() if self.lower else None,
            "upper": self.upper.to_json() if self.upper else None,
            "disagreeing": list(self.disagreeing),
        }


@dataclass(frozen=True)
class PackageCalibration:
    """The range of one package, its time limit in CPU seconds, and the margins that its labels promise.

    `accepted_margin` is the limit divided by the time of the slowest accepted submission, `timeout_margin` the time of
    the fastest submission with TLE divided by the limit; each is None without such a submission.
    """

    package: Package
    time_limit: float
    range: FactorRange

    @property
    def accepted_margin(self) -> float | None:
        """The measured margin of accepted submissions, which the package promises as `time_multiplier`."""
        lower = self.range.lower
        return 1 / lower.ratio if lower and lower.ratio else None

    @property
    def timeout_margin(self) -> float | None:
        """The measured margin of submissions with TLE, which the package promises as `safety_margin`."""
        return self.range.upper.ratio if self.range.upper else None

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the command's JSON output."""
        timeout = self.timeout_margin
        return {
            "package": self.package.name,
            "time_limit": self.time_limit,
            **self.range.to_json(),
            "accepted_margin": round(self.accepted_margin, 4) if self.accepted_margin else None,
            "promised_accepted_margin": self.package.time_multiplier,
            "timeout_margin": round(timeout, 4) if timeout and math.isfinite(timeout) else None,
            "promised_timeout_margin": self.package.safety_margin,
        }


@dataclass(frozen=True)
class Calibration:
    """The calibrations of all packages, the range that they share, derived limits, and skipped packages."""

    packages: list[PackageCalibration]
    shared: FactorRange
    derived: list[DerivedLimit]
    skipped: list[Skipped]


def calibrate(
    works: Iterable[PackageWork], jobs: int, on_done: Callable[[], object], *, fork_server: bool = True
) -> Calibration:
    """Judge all submissions with `SEARCHED` times their limits, `jobs` at a time. `on_done` is called after each.

    `fork_server` is that of `GradingOptions`. Raises SandboxUnavailableError.
    """
    works = [work for work in works if work.submissions]
    calibrator = _Calibrator(on_done, fork_server)
    calibrated, skipped = [], []
    with ThreadPoolExecutor(jobs) as pool:
        derived = derive_limits(works, pool, calibrator.measure)
        pending = []
        for work in works:
            limit = derived.get(work.package.path)
            time_limit = limit.limit if limit else work.package.time_limit
            if time_limit is None:
                skipped.append(without_limit(work.package))
                continue
            futures = [
                pool.submit(calibrator.bounds, work.package, one, time_limit) for one in work.submissions
            ]
            pending.append((work, time_limit, futures))
        wait(future for _, _, futures in pending for future in futures)
        for work, time_limit, futures in pending:
            found = [future.result() for future in futures]
            calibrated.append(PackageCalibration(work.package, time_limit, _range(found)))
    shared = _common(one.range for one in calibrated)
    return Calibration(calibrated, shared, list(derived.values()), skipped)


class _Calibrator:
    """A judge of submissions in threads."""

    def __init__(self, on_done: Callable[[], object], fork_server: bool) -> None:
        self._on_done = on_done
        self._options = GradingOptions(fork_server=fork_server)
        self._lock = Lock()

    def measure(self, work: PackageWork, submission: LabelledSubmission, time_limit: float) -> float | None:
        """Judge a submission that sets the limit; return its CPU seconds, or None if it is not accepted."""
        tests = grade_labelled(work.package, submission, time_limit, self._options).tests
        if any(test.verdict is not Verdict.AC for test in tests):
            return None
        return max(test.time for test in tests) if tests else None

    def bounds(
        self, package: Package, submission: LabelledSubmission, time_limit: float
    ) -> Bound | str | None:
        """Return what the submission demands of the factor: a bound, nothing, or the text of its disagreement."""
        judgement = grade_labelled(package, submission, SEARCHED * time_limit, self._options)
        verdict = judgement.verdict
        with self._lock:
            self._on_done()
        ratio = max((test.time for test in judgement.tests), default=0.0)
        ratio /= time_limit * time_multipliers().get(submission.language or "", 1.0)
        expected = submission.expected
        if verdict is Verdict.TLE:
            if Verdict.TLE in expected:
                return Bound(package.name, submission, math.inf, fast=False)
            return f"{package.name}/{submission.name}: slower than {SEARCHED:.2f} times the limit"
        if verdict in expected:
            return None if Verdict.TLE in expected else Bound(package.name, submission, ratio, fast=True)
        if Verdict.TLE in expected:
            return Bound(package.name, submission, ratio, fast=False)
        return f"{package.name}/{submission.name}: {verdict} instead of {'|'.join(sorted(expected))}"


def _range(found: Iterable[Bound | str | None]) -> FactorRange:
    found = list(found)
    bounds = [one for one in found if isinstance(one, Bound)]
    return FactorRange(
        lower=max((one for one in bounds if one.fast), key=lambda one: one.ratio, default=None),
        upper=min((one for one in bounds if not one.fast), key=lambda one: one.ratio, default=None),
        disagreeing=tuple(one for one in found if isinstance(one, str)),
    )


def _common(ranges: Iterable[FactorRange]) -> FactorRange:
    """Return the factors that lie in all ranges."""
    ranges = list(ranges)
    return _range(found for one in ranges for found in (one.lower, one.upper, *one.disagreeing))
