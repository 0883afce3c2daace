"""manage.py verify_package: judge the labelled submissions of ICPC problem packages. Needs no database."""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from judge import LANGUAGES, SandboxUnavailableError
from judge.management.tables import aligned
from judge.records import MEBIBYTE
from judge.verification import Skipped, VerifiedSubmission, find_packages, plan, verify

_INTERPRETERS = {"cpython": "python", "pypy": "pypy"}
"""The judge's language for each value of --python."""


class Command(BaseCommand):
    help = (
        "Judge every labelled submission of ICPC problem packages and compare the verdicts with the labels."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folders", nargs="+", type=Path, metavar="DIR", help="a package, or a folder of packages"
        )
        parser.add_argument(
            "--language",
            nargs="+",
            action="extend",
            default=[],
            choices=sorted(LANGUAGES),
            help="judge only submissions in these languages",
        )
        parser.add_argument(
            "--python",
            choices=sorted(_INTERPRETERS),
            default="cpython",
            help="the interpreter for Python submissions; most contests' labels assume pypy (default: cpython)",
        )
        parser.add_argument(
            "--jobs",
            type=_positive,
            default=len(os.sched_getaffinity(0)),
            help="submissions judged in parallel; more than the number of cores distorts times (default: the cores)",
        )
        parser.add_argument(
            "--fresh-start",
            action="store_true",
            help="start an interpreter for each test instead of using the fork server: slower, with the same verdicts",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, **options: Any) -> None:
        python = _INTERPRETERS[options["python"]]
        works, skipped = plan(find_packages(options["folders"]), options["language"], python)
        total = sum(len(work.submissions) for work in works)
        try:
            with tqdm(total=total, unit="submission", file=sys.stderr) as bar:

                def count(_: VerifiedSubmission) -> None:
                    bar.update()

                results, underivable = verify(
                    works, options["jobs"], count, fork_server=not options["fresh_start"]
                )
        except SandboxUnavailableError as error:
            raise CommandError(str(error)) from error
        skipped += underivable
        if options["json"]:
            self.stdout.write(json.dumps(_document(results, skipped), indent=2))
        else:
            self.stdout.write(_text(results, skipped))
        if not results or not all(result.agree for result in results) or any(one.broken for one in skipped):
            sys.exit(1)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _document(results: list[VerifiedSubmission], skipped: list[Skipped]) -> dict[str, Any]:
    return {
        "agree": sum(result.agree for result in results),
        "total": len(results),
        "confusion": {expected: dict(row) for expected, row in _confusion(results).items()},
        "submissions": [result.to_json() for result in results],
        "left_out": [one.to_json() for one in skipped],
    }


def _text(results: list[VerifiedSubmission], skipped: list[Skipped]) -> str:
    rows = [
        ("package", "submission", "language", "expected", "verdict", "CPU s", "MiB", "first failing test", "")
    ]
    for result in results:
        entry = result.to_json()
        remark = "" if result.agree else f"DISAGREES: {' '.join(entry['reason'].split())}"
        rows.append(
            (
                result.package,
                entry["file"],
                entry["language"],
                _expected(result),
                result.verdict,
                f"{result.time:.2f}",
                f"{result.memory / MEBIBYTE:.0f}",
                result.test,
                remark,
            )
        )
    lines = aligned(rows) if results else ["No submission was judged."]
    if results:
        lines += [
            "",
            "Expected verdicts (rows) and given verdicts (columns):",
            *_matrix(_confusion(results)),
            "",
        ]
        lines += [f"{sum(result.agree for result in results)} of {len(results)} agree with their label."]
    if skipped:
        lines += ["", "Skipped:"]
        lines += [f"  {'/'.join(filter(None, (one.package, one.file)))}: {one.reason}" for one in skipped]
    return "\n".join(lines)


def _expected(result: VerifiedSubmission) -> str:
    return "|".join(sorted(result.submission.expected))


def _confusion(results: list[VerifiedSubmission]) -> dict[str, Counter[str]]:
    """Return the count of each given verdict for each set of expected verdicts."""
    counts: dict[str, Counter[str]] = {}
    for result in sorted(results, key=_expected):
        counts.setdefault(_expected(result), Counter())[result.verdict.value] += 1
    return counts


def _matrix(counts: dict[str, Counter[str]]) -> list[str]:
    verdicts = sorted({verdict for row in counts.values() for verdict in row})
    rows: list[tuple[str, ...]] = [("", *verdicts)]
    rows += [(expected, *(str(row[verdict]) for verdict in verdicts)) for expected, row in counts.items()]
    return aligned(rows)
