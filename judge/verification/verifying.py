"""The verification: submissions are judged in parallel, those that set a missing time limit first."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge.grading import GradingOptions, Problem, Submission, grade
from judge.packages import LabelledSubmission, Package
from judge.records import Judgement, Verdict
from judge.toolchains import LANGUAGES, get_language
from judge.verification.planning import PackageWork, Skipped, missing_tool

_MEASURING_LIMIT = 60.0
"""CPU seconds for accepted submissions from whose times a missing time limit is derived."""

_UNSCALED = "python"
"""The language that keeps its own factor. Contests apply their limits to all others as they are."""

_SETS_LIMITS = ("cpp", "java")
"""Families of languages from whose submissions contests derive their limits."""


@dataclass(frozen=True)
class DerivedLimit:
    """A time limit that a package lacks, in CPU seconds, and the submission that sets it.

    `time` is the CPU seconds of that submission, divided by the factor of its language. `by_language` is False if no
    C++ or Java submission passes here, so that all accepted submissions set the limit.
    """

    package: Package
    limit: float
    slowest: LabelledSubmission
    time: float
    by_language: bool

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the command's JSON output."""
        return {
            "package": self.package.name,
            "time_limit": self.limit,
            "slowest": self.slowest.name,
            "time": round(self.time, 4),
            "time_multiplier": self.package.time_multiplier,
            "from": "C++ and Java" if self.by_language else "all languages",
        }


@dataclass(frozen=True)
class VerifiedSubmission:
    """A judged submission. `time` is the CPU seconds of its slowest test, `memory` the bytes of its largest.

    `broken_rule` is the rule of the package's `submissions.yaml` that does not hold; `test` the first failed test.
    """

    package: str
    submission: LabelledSubmission
    verdict: Verdict
    time: float
    memory: int
    test: str
    reason: str
    broken_rule: str

    @property
    def agree(self) -> bool:
        """Whether the submission's label allows the verdict, and all its rules hold."""
        return self.verdict in self.submission.expected and not self.broken_rule

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the command's JSON output."""
        return {
            "package": self.package,
            "file": self.submission.name,
            "language": self.submission.language,
            "expected": sorted(self.submission.expected),
            "verdict": self.verdict,
            "agree": self.agree,
            "time": round(self.time, 4),
            "memory": self.memory,
            "test": self.test,
            "reason": self.broken_rule or self.reason,
        }


@dataclass(frozen=True)
class Verification:
    """Results in the order of the works, the derived time limits, and the packages for which none can be derived."""

    results: list[VerifiedSubmission]
    derived: list[DerivedLimit]
    skipped: list[Skipped]


def verify(
    works: Iterable[PackageWork],
    jobs: int,
    on_done: Callable[[VerifiedSubmission], None],
    *,
    fork_server: bool = True,
) -> Verification:
    """Judge all submissions, `jobs` at a time. `on_done` is called with each result, never concurrently.

    `fork_server` is that of `GradingOptions`. Raises SandboxUnavailableError.
    """
    works = [work for work in works if work.submissions]
    verifier = _Verifier(on_done, fork_server)
    with ThreadPoolExecutor(jobs) as pool:
        derived = derive_limits(works, pool, verifier.measure)
        skipped, futures = [], []
        for work in works:
            limit = derived.get(work.package.path)
            time_limit = limit.limit if limit else work.package.time_limit
            if time_limit is not None:
                pending = (one for one in work.submissions if one.path not in verifier.results)
                futures += [pool.submit(verifier.judge, work.package, one, time_limit) for one in pending]
            else:
                skipped.append(without_limit(work.package))
        wait(futures)
    in_order = (submission.path for work in works for submission in work.submissions)
    results = [verifier.results[path] for path in in_order if path in verifier.results]
    return Verification(results, list(derived.values()), skipped)


def without_limit(package: Package) -> Skipped:
    """Return the entry of a package whose time limit cannot be derived."""
    reason = "it has no time limit, and no accepted submission passes here to derive one from"
    return Skipped(package.name, "", reason, broken=True)


Measure = Callable[[PackageWork, LabelledSubmission, float], float | None]
"""A function that judges a submission with a limit in CPU seconds.

It returns the CPU seconds of the slowest test, or None for a submission that is not accepted.
"""


def derive_limits(
    works: Iterable[PackageWork], pool: ThreadPoolExecutor, measure: Measure
) -> dict[Path, DerivedLimit]:
    """Return the derived limits of the packages without a time limit, by the path of the package.

    The slowest accepted C++ or Java submission sets the limit; without any that passes here, the slowest accepted
    submission of all languages.
    """
    works = [work for work in works if work.package.time_limit is None]
    derived: dict[Path, DerivedLimit] = {}
    for by_language in (True, False):
        futures = {
            pool.submit(measure, work, one, _MEASURING_LIMIT): (work.package, one)
            for work in works
            if work.package.path not in derived
            for one in _setting_the_limit(work)
            if (get_language(one.language or "").family.name in _SETS_LIMITS) == by_language
        }
        wait(futures)
        times: dict[Path, list[tuple[float, Package, LabelledSubmission]]] = {}
        for future, (package, one) in futures.items():
            if (time := future.result()) is not None:
                scaled = time / time_multipliers().get(one.language or "", 1.0)
                times.setdefault(package.path, []).append((scaled, package, one))
        for path, entries in times.items():
            time, package, slowest = max(entries, key=lambda entry: entry[0])
            limit = package.derived_time_limit(time)
            derived[path] = DerivedLimit(package, limit, slowest, time, by_language)
    return derived


class _Verifier:
    """Results by the submissions' paths, which several threads add."""

    def __init__(self, on_done: Callable[[VerifiedSubmission], None], fork_server: bool) -> None:
        self.results: dict[Path, VerifiedSubmission] = {}
        self._on_done = on_done
        self._fork_server = fork_server
        self._lock = threading.Lock()

    def judge(
        self, package: Package, submission: LabelledSubmission, time_limit: float, *, report: bool = True
    ) -> None:
        """Judge the submission and store the result."""
        verified = self._verified(package, submission, time_limit)
        with self._lock:
            self.results[submission.path] = verified
            if report:
                self._on_done(verified)

    def measure(self, work: PackageWork, submission: LabelledSubmission, time_limit: float) -> float | None:
        """Judge a submission that sets the limit; return its CPU seconds, or None if it is not accepted."""
        self.judge(work.package, submission, time_limit, report=submission in work.submissions)
        verified = self.results[submission.path]
        return verified.time if verified.verdict is Verdict.AC else None

    def _verified(
        self, package: Package, submission: LabelledSubmission, time_limit: float
    ) -> VerifiedSubmission:
        judgement, warning = self._judgement(package, submission, time_limit)
        failed = next((test for test in judgement.tests if test.verdict is not Verdict.AC), None)
        reason = f"test {failed.name}: {failed.message}{warning}" if failed else ""
        broken = (rule.broken_by(judgement.tests) for rule in submission.rules)
        return VerifiedSubmission(
            package=package.name,
            submission=submission,
            verdict=judgement.verdict,
            time=max((test.time for test in judgement.tests), default=0.0),
            memory=max((test.memory for test in judgement.tests), default=0),
            test=failed.name if failed else "",
            reason=judgement.compiler_output if judgement.verdict is Verdict.CE else reason,
            broken_rule=next(filter(None, broken), ""),
        )

    def _judgement(
        self, package: Package, submission: LabelledSubmission, time_limit: float
    ) -> tuple[Judgement, str]:
        """Judge the submission, with a warning if it exceeds a derived time limit by less than the safety margin."""
        if package.time_limit is not None or submission.expected != {Verdict.TLE}:
            return self._graded(package, submission, time_limit), ""
        margin = package.safety_margin * time_limit
        judgement = self._graded(package, submission, margin)
        if judgement.verdict is Verdict.TLE:
            return judgement, ""
        warning = f" (but not {margin:g} s, the limit with the package's safety margin)"
        return self._graded(package, submission, time_limit), warning

    def _graded(self, package: Package, submission: LabelledSubmission, time_limit: float) -> Judgement:
        options = GradingOptions(stop_at_first_failure=not submission.rules, fork_server=self._fork_server)
        return grade_labelled(package, submission, time_limit, options)


def grade_labelled(
    package: Package, submission: LabelledSubmission, time_limit: float, options: GradingOptions
) -> Judgement:
    """Grade the submission with this limit in CPU seconds, and the time multipliers that labels assume."""
    assert submission.language is not None
    return grade(
        Submission(submission.sources(), submission.language),
        Problem(package.tests, package.limits_with(time_limit), package.checker),
        replace(options, time_multipliers=time_multipliers(), compile_time=package.compile_time),
    )


def time_multipliers() -> dict[str, float]:
    """Return the factors that labels of contests assume: 1 except for CPython, which is slower than they assume."""
    return {name: one.time_multiplier if name == _UNSCALED else 1.0 for name, one in LANGUAGES.items()}


def _setting_the_limit(work: PackageWork) -> Iterator[LabelledSubmission]:
    """Yield the submissions that set the time limit, also in languages that are not selected."""
    for submission in work.package.submissions:
        if submission.sets_time_limit and not submission.skipped and not missing_tool(submission.language):
            yield submission


def wait(futures: Iterable[Future[Any]]) -> None:
    """Wait for all futures. After an error or an interruption none that waits is started."""
    futures = list(futures)
    try:
        for future in futures:
            future.result()
    finally:
        for future in futures:
            future.cancel()
