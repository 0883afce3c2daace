"""The verification: submissions are judged in parallel, those that set a missing time limit first."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.grading import GradingOptions, Problem, Submission, grade
from judge.packages import LabelledSubmission, Package
from judge.records import Judgement, Verdict
from judge.toolchains import LANGUAGES
from judge.verification.planning import PackageWork, Skipped, missing_tool

_MEASURING_LIMIT = 60.0
"""CPU seconds for accepted submissions from whose times a missing time limit is derived."""

_UNSCALED = "python"
"""The language that keeps its own factor. Contests apply their limits to all others as they are."""


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


def verify(
    works: Iterable[PackageWork],
    jobs: int,
    on_done: Callable[[VerifiedSubmission], None],
    *,
    fork_server: bool = True,
) -> tuple[list[VerifiedSubmission], list[Skipped]]:
    """Judge all submissions, `jobs` at a time. `on_done` is called with each result, never concurrently.

    `fork_server` is that of `GradingOptions`. Returns the results in the order of the works, and the packages whose
    time limit cannot be derived. Raises SandboxUnavailableError.
    """
    works = list(works)
    verification = _Verification(on_done, fork_server)
    with ThreadPoolExecutor(jobs) as pool:
        _wait(
            pool.submit(
                verification.judge,
                work.package,
                submission,
                _MEASURING_LIMIT,
                report=submission in work.submissions,
            )
            for work in works
            if work.package.time_limit is None and work.submissions
            for submission in _setting_the_limit(work)
        )
        skipped, futures = [], []
        for work in works:
            time_limit = work.package.time_limit or verification.derived_limit(work)
            if time_limit is not None:
                pending = (one for one in work.submissions if one.path not in verification.results)
                futures += [pool.submit(verification.judge, work.package, one, time_limit) for one in pending]
            elif work.submissions:
                reason = "it has no time limit, and no accepted submission passes here to derive one from"
                skipped.append(Skipped(work.package.name, "", reason, broken=True))
        _wait(futures)
    in_order = (submission.path for work in works for submission in work.submissions)
    results = verification.results
    return [results[path] for path in in_order if path in results], skipped


class _Verification:
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

    def derived_limit(self, work: PackageWork) -> float | None:
        """Return the time limit that follows from the accepted submissions, divided by their languages' factors."""
        times = [
            verified.time / _time_multipliers().get(verified.submission.language or "", 1.0)
            for submission in _setting_the_limit(work)
            if (verified := self.results.get(submission.path)) and verified.verdict is Verdict.AC
        ]
        return work.package.derived_time_limit(max(times)) if times else None

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
        assert submission.language is not None
        return grade(
            Submission(submission.sources(), submission.language),
            Problem(package.tests, package.limits_with(time_limit), package.checker),
            GradingOptions(
                time_multipliers=_time_multipliers(),
                stop_at_first_failure=not submission.rules,
                fork_server=self._fork_server,
                compile_time=package.compile_time,
            ),
        )


def _time_multipliers() -> dict[str, float]:
    """Return the factors that labels of contests assume: 1 except for CPython, which is slower than they assume."""
    return {name: one.time_multiplier if name == _UNSCALED else 1.0 for name, one in LANGUAGES.items()}


def _setting_the_limit(work: PackageWork) -> Iterator[LabelledSubmission]:
    """Yield the submissions that set the time limit, also in languages that are not selected."""
    for submission in work.package.submissions:
        if submission.sets_time_limit and not submission.skipped and not missing_tool(submission.language):
            yield submission


def _wait(futures: Iterable[Future[None]]) -> None:
    futures = list(futures)
    try:
        for future in futures:
            future.result()
    finally:  # after an error or an interruption nothing new is started
        for future in futures:
            future.cancel()
