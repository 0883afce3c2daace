"""Judging the labelled submissions of problem packages: does the judge agree with the labels?"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge.expectations import Submission
from judge.grading import grade
from judge.judgement import Judgement
from judge.languages import ToolMissing, get_language
from judge.package_files import PackageError, shown
from judge.packages import Package, read_package
from judge.verdicts import Verdict

_TIME_TO_MEASURE = 60.0
"""CPU seconds an accepted submission gets while the time limit is still to be derived from it."""

_TIME_MULTIPLIERS = {"java": 1.0, "kotlin": 1.0, "pypy": 1.0}
"""Contests give these the limit as it stands, and labels mean that; CPython is slower than what labels mean."""


@dataclass(frozen=True)
class Verified:
    """A submission that was judged. `time` is the CPU seconds of its slowest test, `memory` bytes of its largest.

    `broken_rule` says which rule of the package's `submissions.yaml` does not hold; `test` names the first that failed.
    """

    package: str
    submission: Submission
    verdict: Verdict
    time: float
    memory: int
    test: str
    reason: str
    broken_rule: str

    @property
    def agree(self) -> bool:
        """Whether the verdict is one the submission's label allows, and all its rules hold."""
        return self.verdict in self.submission.expected and not self.broken_rule

    def to_json(self) -> dict[str, Any]:
        """The entry of this submission in the command's JSON output."""
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


def plan(paths: Iterable[Path], languages: Iterable[str], python: str) -> tuple[list[Work], list[LeftOut]]:
    """What there is to judge in these packages (in these languages; none given: in all), and what is left out.

    `python` is the language by whose interpreter Python submissions are judged.
    """
    wanted = {python if language == "python" else language for language in languages}
    works: list[Work] = []
    left_out: list[LeftOut] = []
    for path in paths:
        try:
            package = read_package(path)
        except PackageError as error:
            left_out.append(LeftOut(shown(path.resolve().name), "", str(error), broken=True))
            continue
        submissions = tuple(
            replace(one, language=python) if one.language == "python" else one for one in package.submissions
        )
        package = replace(package, name=shown(package.name), submissions=submissions)
        if reason := _obstacle(package):
            left_out.append(LeftOut(package.name, "", reason))
            continue
        chosen: list[Submission] = []
        for submission in package.submissions:
            unwanted = wanted and submission.language is not None and submission.language not in wanted
            reason = submission.left_out or ("it is in a language that was not asked for" if unwanted else "")
            if reason := reason or _missing_tool(submission.language):
                left_out.append(LeftOut(package.name, submission.name, reason))
            else:
                chosen.append(submission)
        works.append(Work(package, tuple(chosen)))
    return works, left_out


def _obstacle(package: Package) -> str:
    """Why nothing of the package can be judged here, or ""."""
    if package.unsupported:
        return package.unsupported
    for what, there in (("tests", package.tests), ("submissions", package.submissions)):
        if not there:
            return f"it has no {what}"
    program = package.checker.program
    return _missing_tool(program.language) if program else ""


def _missing_tool(language: str | None) -> str:
    try:
        if language is not None:
            get_language(language).tool()
            get_language(language).machine()
    except ToolMissing as missing:
        return str(missing)
    return ""


def verify(
    works: Iterable[Work], jobs: int, on_done: Callable[[Verified], None], *, warm_start: bool = True
) -> tuple[list[Verified], list[LeftOut]]:
    """Judge all of it with so many judges at once; `on_done` is told each as it comes, one at a time.

    First the submissions from which missing time limits follow, then the rest. `warm_start` is that of `grade`.
    Returns the results in the order of the works, and the packages whose time limit cannot be derived. Raises
    SandboxUnavailable.
    """
    works = list(works)
    telling = threading.Lock()
    results: dict[Path, Verified] = {}
    left_out: list[LeftOut] = []

    def judge(package: Package, submission: Submission, time_limit: float, *, told: bool = True) -> None:
        verified = _verified(package, submission, time_limit, warm_start)
        with telling:
            results[submission.path] = verified
            if told:
                on_done(verified)

    with ThreadPoolExecutor(jobs) as pool:
        _all_done(
            pool.submit(
                judge, work.package, submission, _TIME_TO_MEASURE, told=submission in work.submissions
            )
            for work in works
            if work.package.time_limit is None and work.submissions
            for submission in _setting_the_limit(work)
        )
        rest = []
        for work in works:
            time_limit = work.package.time_limit or _derived(work, results)
            if time_limit is None and work.submissions:
                reason = (
                    "it has no time limit, and no accepted submission that is accepted, to derive one from"
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


def _setting_the_limit(work: Work) -> Iterator[Submission]:
    """Those the limit follows from, also in languages that were not asked for."""
    for submission in work.package.submissions:
        if submission.sets_time_limit and not submission.left_out and not _missing_tool(submission.language):
            yield submission


def _derived(work: Work, results: dict[Path, Verified]) -> float | None:
    """The time limit from these submissions, where a slow language counts by what it is allowed more."""
    times = [
        verified.time / _time_multiplier(verified.submission.language or "")
        for submission in _setting_the_limit(work)
        if (verified := results.get(submission.path)) and verified.verdict is Verdict.AC
    ]
    return work.package.derived_time_limit(max(times)) if times else None


def _time_multiplier(language: str) -> float:
    return _TIME_MULTIPLIERS.get(language, get_language(language).time_multiplier)


def _verified(package: Package, submission: Submission, time_limit: float, warm_start: bool) -> Verified:
    judgement, warning = _judge(package, submission, time_limit, warm_start)
    failed = next((test for test in judgement.tests if test.verdict is not Verdict.AC), None)
    reason = f"test {failed.name}: {failed.message}{warning}" if failed else ""
    broken = (rule.broken_by(judgement.tests) for rule in submission.rules)
    return Verified(
        package=package.name,
        submission=submission,
        verdict=judgement.verdict,
        time=max((test.time for test in judgement.tests), default=0.0),
        memory=max((test.memory for test in judgement.tests), default=0),
        test=failed.name if failed else "",
        reason=judgement.compiler_output if judgement.verdict is Verdict.CE else reason,
        broken_rule=next(filter(None, broken), ""),
    )


def _judge(
    package: Package, submission: Submission, time_limit: float, warm_start: bool
) -> tuple[Judgement, str]:
    """Judge the submission, and warn where a derived time limit is too near to one that must exceed it."""
    if package.time_limit is not None or submission.expected != {Verdict.TLE}:
        return _graded(package, submission, time_limit, warm_start), ""
    margin = package.safety_margin * time_limit
    judgement = _graded(package, submission, margin, warm_start)
    if judgement.verdict is Verdict.TLE:
        return judgement, ""
    warning = f" (but none of {margin:g} s, which the package's safety margin asks for)"
    return _graded(package, submission, time_limit, warm_start), warning


def _graded(package: Package, submission: Submission, time_limit: float, warm_start: bool) -> Judgement:
    assert submission.language is not None
    return grade(
        submission.sources(),
        submission.language,
        package.tests,
        package.limits_with(time_limit),
        package.checker,
        time_multipliers=_TIME_MULTIPLIERS,
        stop_at_first_failure=not submission.rules,
        warm_start=warm_start,
    )
