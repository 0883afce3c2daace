"""Judging the labelled submissions of problem packages: does the judge agree with the labels?"""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.expectations import Submission
from judge.grading import grade
from judge.judgement import Judgement
from judge.languages import get_language
from judge.packages import Package, PackageError, read_package
from judge.verdicts import Verdict

_TIME_TO_MEASURE = 60.0
"""CPU seconds an accepted submission gets while the time limit is still to be derived from it."""


@dataclass(frozen=True)
class Verified:
    """A submission that was judged. `time` is the CPU seconds of its slowest test."""

    package: str
    submission: Submission
    verdict: Verdict
    time: float
    reason: str

    @property
    def agree(self) -> bool:
        return self.verdict in self.submission.expected

    def to_json(self) -> dict[str, Any]:
        """The entry of this submission in the command's JSON output."""
        return {
            "package": self.package,
            "file": f"{self.submission.label}/{self.submission.path.name}",
            "language": self.submission.language,
            "expected": sorted(self.submission.expected),
            "verdict": self.verdict,
            "agree": self.agree,
            "time": round(self.time, 4),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class LeftOut:
    """Something that was not judged and why. `file` is empty for a whole package; `broken`: it should be mended."""

    package: str
    file: str
    reason: str
    broken: bool = False

    def to_json(self) -> dict[str, Any]:
        """The entry in the command's JSON output."""
        return {"package": self.package, "file": self.file, "reason": self.reason}


@dataclass(frozen=True)
class Work:
    """The submissions of one package that are to be judged."""

    package: Package
    submissions: tuple[Submission, ...]


def find_packages(folders: Iterable[Path]) -> list[Path]:
    """The packages named: each folder itself, or, where it is no package, those directly in it.

    A plain file beside folders is passed over: `packages/*` in a shell names a README too.
    """
    named = list(folders)
    found: list[Path] = []
    for folder in [path for path in named if not path.is_file()] or named:
        inside = sorted(file.parent for file in folder.glob("*/problem.yaml"))
        found += inside if inside and not (folder / "problem.yaml").exists() else [folder]
    return found


def plan(paths: Iterable[Path], languages: Iterable[str]) -> tuple[list[Work], list[LeftOut]]:
    """What there is to judge in these packages (in these languages; none given: in all), and what is left out."""
    wanted = set(languages)
    works: list[Work] = []
    left_out: list[LeftOut] = []
    for path in paths:
        try:
            package = read_package(path)
        except PackageError as error:
            left_out.append(LeftOut(path.resolve().name, "", str(error), broken=True))
            continue
        reason = package.unsupported and f"{package.unsupported}, which is not supported yet"
        if reason := reason or ("" if package.tests else "it has no tests"):
            left_out.append(LeftOut(package.name, "", reason))
            continue
        chosen: list[Submission] = []
        for submission in package.submissions:
            unwanted = wanted and submission.language is not None and submission.language not in wanted
            reason = submission.left_out or ("it is in a language that was not asked for" if unwanted else "")
            if reason:
                left_out.append(LeftOut(package.name, f"{submission.label}/{submission.path.name}", reason))
            else:
                chosen.append(submission)
        if not package.submissions:
            left_out.append(LeftOut(package.name, "", "it has no submissions"))
        works.append(Work(package, tuple(chosen)))
    return works, left_out


def verify(
    works: Iterable[Work], jobs: int, on_done: Callable[[Verified], None]
) -> tuple[list[Verified], list[LeftOut]]:
    """Judge all of it with so many judges at once; `on_done` is told each as it comes, one at a time.

    First the accepted submissions of packages whose time limit follows from them, then the rest. Returns the
    results in the order of the works, and the packages whose time limit cannot be derived. Raises
    SandboxUnavailable.
    """
    works = list(works)
    telling = threading.Lock()
    results: dict[Path, Verified] = {}
    left_out: list[LeftOut] = []
    wanted = {submission.path for work in works for submission in work.submissions}

    def judge(package: Package, submission: Submission, time_limit: float) -> None:
        verified = _judge(package, submission, time_limit)
        with telling:
            results[submission.path] = verified
            if submission.path in wanted:
                on_done(verified)

    with ThreadPoolExecutor(jobs) as pool:
        underived = [work.package for work in works if work.package.time_limit is None and work.submissions]
        _all_done(
            pool.submit(judge, package, submission, _TIME_TO_MEASURE)
            for package in underived
            for submission in _accepted(package)
        )
        rest = []
        for work in works:
            time_limit = work.package.time_limit or _derived(work.package, results)
            if time_limit is None and work.submissions:
                reason = (
                    "it has no time limit and no accepted submission that is accepted, to derive one from"
                )
                left_out.append(LeftOut(work.package.name, "", reason, broken=True))
            elif time_limit is not None:
                unjudged = (submission for submission in work.submissions if submission.path not in results)
                rest += [pool.submit(judge, work.package, submission, time_limit) for submission in unjudged]
        _all_done(rest)
    in_order = (submission.path for work in works for submission in work.submissions)
    return [results[path] for path in in_order if path in results], left_out


def _all_done(futures: Iterable[Future[None]]) -> None:
    futures = list(futures)
    try:
        for future in futures:
            future.result()
    finally:  # after an error or an interruption nothing new is begun
        for future in futures:
            future.cancel()


def _accepted(package: Package) -> list[Submission]:
    return [one for one in package.submissions if one.label == "accepted" and not one.left_out]


def _derived(package: Package, results: dict[Path, Verified]) -> float | None:
    """The time limit from accepted submissions, where a slow language counts by what it is allowed more."""
    times = [
        verified.time / get_language(submission.language).time_multiplier
        for submission in _accepted(package)
        if submission.language
        and (verified := results.get(submission.path))
        and verified.verdict is Verdict.AC
    ]
    return package.derived_time_limit(max(times)) if times else None


def _judge(package: Package, submission: Submission, time_limit: float) -> Verified:
    assert submission.language is not None
    source = submission.path.read_text(encoding="utf-8", errors="replace")
    judgement = grade(
        source, submission.language, package.tests, package.limits_with(time_limit), package.checker
    )
    slowest = max((test.time for test in judgement.tests), default=0.0)
    return Verified(package.name, submission, judgement.verdict, slowest, _reason(judgement))


def _reason(judgement: Judgement) -> str:
    """Where and why the program failed; the compiler's words where it was the compiler that refused it."""
    for test in judgement.tests:
        if test.verdict is not Verdict.AC:
            return f"test {test.name}: {test.message}"
    return judgement.compiler_output if judgement.verdict is Verdict.CE else ""
