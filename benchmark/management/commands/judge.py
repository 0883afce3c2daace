"""manage.py judge: judge a program on a stored problem without storing the result."""

import contextlib
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

import judge
from benchmark.functional import NotFunctionalError
from benchmark.judging import applied_factor, checker_for, judge_tests, program_files
from benchmark.judging.references import file_names
from benchmark.management.arguments import find_named_problem, find_suite, positive
from benchmark.models import Judgement
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Judge a program on all tests of a stored problem. The exit status is 0 if it is judged, whatever the "
        "verdict. For hidden tests, only verdict, time and memory are shown."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="a source file, or a folder of source files"
        )
        parser.add_argument("--problem", required=True, metavar="DATASET/ID", help="the problem to judge on")
        parser.add_argument(
            "--language", help=f"{', '.join(judge.LANGUAGES)}; default: by the name of the file"
        )
        parser.add_argument(
            "--policy",
            choices=[policy.value for policy in judge.Policy],
            default=judge.Policy.FAIR.value,
            help="fair: scaled limits, slow languages have more time; compat: published limits; default: fair",
        )
        parser.add_argument("--all-tests", action="store_true", help="do not stop at the first failed test")
        parser.add_argument(
            "--suite",
            type=positive,
            metavar="VERSION",
            help="a test suite of the problem instead of the imported tests",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        problem = find_named_problem(options["problem"])
        file: Path = options["file"]
        policy = judge.Policy(options["policy"])
        suite = find_suite(problem, options["suite"]) if options["suite"] else None
        tests = judge_tests(problem, Judgement.TestScope.ALL, suite)
        if not tests:
            raise CommandError(f"{options['problem']} has no tests. Import it again with its tests.")
        machine = applied_factor(problem.dataset, policy, "")
        try:
            language = (
                judge.get_language(options["language"]).name if options["language"] else _language(file)
            )
            source = _source(file)
            judgement = judge.grade(
                judge.Submission(
                    program_files(problem, source, language) if isinstance(source, str) else source, language
                ),
                judge.Problem(
                    tests,
                    judge.Limits(time=problem.time_limit, memory=problem.memory_limit),
                    checker_for(problem, policy),
                    file_names(source) if isinstance(source, str) else None,
                ),
                judge.GradingOptions(
                    policy=policy,
                    time_multipliers=settings.JUDGE_TIME_MULTIPLIERS,
                    time_factor=machine.factor,
                    compile_time=settings.JUDGE_COMPILE_TIME,
                    stop_at_first_failure=not options["all_tests"],
                ),
            )
        except (judge.UnknownLanguageError, judge.SandboxUnavailableError, NotFunctionalError) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            document = {
                "problem": options["problem"],
                "file": str(file),
                "language": language,
                **_document(judgement),
                "time_factor": machine.factor,
                "samples_only": problem.samples_only and suite is None,
                **({"suite": suite.version} if suite else {}),
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(_text(judgement, machine.factor, problem.samples_only and suite is None))
        if judgement.verdict is judge.Verdict.JE:
            faults = [test.message for test in judgement.tests if test.verdict is judge.Verdict.JE]
            raise CommandError(f"The judge failed: {faults[0]}")  # messages of judge errors quote no test


def _language(path: Path) -> str:
    """Return the language by the name of the file, or of the first file in the folder with a known name."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        with contextlib.suppress(judge.UnknownLanguageError):
            return judge.language_of(file)
    try:
        return judge.language_of(path)
    except judge.UnknownLanguageError as error:
        raise CommandError(f"{error}. Name it with --language.") from None


def _source(path: Path) -> str | dict[str, str]:
    try:
        if path.is_dir():
            files = (file for file in path.rglob("*") if file.is_file())
            return {file.relative_to(path).as_posix(): file.read_text(encoding="utf-8") for file in files}
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _document(judgement: judge.Judgement) -> dict[str, Any]:
    """Return the result without the texts of tests and the output of the program."""
    return {
        "policy": judgement.policy.value,
        "time_limit": judgement.limits.time,
        "memory_limit": judgement.limits.memory,
        "verdict": judgement.verdict.value,
        "near_limit": judgement.near_limit,
        "passed": judgement.passed,
        "total": judgement.total,
        "tests": [
            {
                "name": test.name,
                "verdict": test.verdict.value,
                "time": test.time,
                "memory": test.memory,
                "sample": test.sample,
            }
            for test in judgement.tests
        ],
        "compiler_output": judgement.compiler_output,
        "isolation": judgement.isolation,
        "judge_version": judgement.judge_version,
    }


def _text(judgement: judge.Judgement, time_factor: float, samples_only: bool) -> str:
    rows = [("test", "", "verdict", "CPU s", "MiB", "")]
    for test in judgement.tests:
        origin, message = ("sample", test.message) if test.sample else ("hidden", "")
        memory = f"{test.memory / 2**20:.1f}"
        rows.append((test.name, origin, test.verdict.value, f"{test.time:.3f}", memory, message))
    lines = [*aligned(rows), ""] if judgement.tests else []
    if judgement.compiler_output.strip():
        lines += ["Output of the compiler:", judgement.compiler_output.rstrip(), ""]
    lines.append(f"{judgement.verdict.value}, {judgement.passed} of {judgement.total} tests passed.")
    lines.append(judge.VERDICT_MEANING[judgement.verdict])
    if judgement.near_limit:
        lines.append(
            f"Near the limit: a time within {judge.NEAR_LIMIT:.0%} of {judgement.limits.time:g} s decides the verdict."
        )
    if time_factor != 1:
        lines.append(f"The time limit is multiplied by {time_factor:g}, the factor of machine and dataset.")
    if samples_only:
        lines.append("No hidden tests are stored: the program was judged on the samples only.")
    return "\n".join(lines)
