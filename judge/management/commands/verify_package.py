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

from judge import LANGUAGES, SandboxUnavailable
from judge.limits import MEBIBYTE
from judge.management.tables import aligned
from judge.verification import LeftOut, Verified, find_packages, plan, verify

_INTERPRETERS = {"cpython": "python", "pypy": "pypy"}
"""The languages of the judge that stand for them."""


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
            help="judge only these",
        )
        parser.add_argument(
            "--python",
            choices=sorted(_INTERPRETERS),
            default="cpython",
            help="the interpreter for Python submissions; the labels of contests mostly mean pypy (default: cpython)",
        )
        parser.add_argument(
            "--jobs",
            type=_positive,
            default=len(os.sched_getaffinity(0)),
            help="submissions judged at once; more than there are cores disturbs their times (default: the cores)",
        )
        parser.add_argument(
            "--fresh-start",
            action="store_true",
            help="start the interpreter anew for each test, instead of forking it: slower, with the same verdicts",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, **options: Any) -> None:
        python = _INTERPRETERS[options["python"]]
        works, left_out = plan(find_packages(options["folders"]), options["language"], python)
        total = sum(len(work.submissions) for work in works)
        try:
            with tqdm(total=total, unit="submission", file=sys.stderr) as bar:

                def count(_: Verified) -> None:
                    bar.update()

                results, underivable = verify(
                    works, options["jobs"], count, warm_start=not options["fresh_start"]
                )
        except SandboxUnavailable as error:
            raise CommandError(str(error)) from error
        left_out += underivable
        if options["json"]:
            self.stdout.write(json.dumps(_document(results, left_out), indent=2))
        else:
            self.stdout.write(_text(results, left_out))
        if not results or not all(result.agree for result in results) or any(one.broken for one in left_out):
            sys.exit(1)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _document(results: list[Verified], left_out: list[LeftOut]) -> dict[str, Any]:
    return {
        "agree": sum(result.agree for result in results),
        "total": len(results),
        "confusion": {expected: dict(row) for expected, row in _confusion(results).items()},
        "submissions": [result.to_json() for result in results],
        "left_out": [one.to_json() for one in left_out],
    }


def _text(results: list[Verified], left_out: list[LeftOut]) -> str:
    rows = [
        ("package", "submission", "language", "expected", "verdict", "CPU s", "MiB", "first failing test", "")
    ]
    for result in results:
        entry = result.to_json()
        said = "" if result.agree else f"DISAGREES: {' '.join(entry['reason'].split())}"
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
                said,
            )
        )
    lines = aligned(rows) if results else ["Nothing was judged."]
    if results:
        lines += ["", "Expected (down) and given (across):", *_matrix(_confusion(results)), ""]
        lines += [f"{sum(result.agree for result in results)} of {len(results)} agree with their label."]
    if left_out:
        lines += ["", "Left out:"]
        lines += [f"  {'/'.join(filter(None, (one.package, one.file)))}: {one.reason}" for one in left_out]
    return "\n".join(lines)


def _expected(result: Verified) -> str:
    return "|".join(sorted(result.submission.expected))


def _confusion(results: list[Verified]) -> dict[str, Counter[str]]:
    """How often each verdict was given where these were expected."""
    counts: dict[str, Counter[str]] = {}
    for result in sorted(results, key=_expected):
        counts.setdefault(_expected(result), Counter())[result.verdict.value] += 1
    return counts


def _matrix(counts: dict[str, Counter[str]]) -> list[str]:
    verdicts = sorted({verdict for row in counts.values() for verdict in row})
    rows: list[tuple[str, ...]] = [("", *verdicts)]
    rows += [(expected, *(str(row[verdict]) for verdict in verdicts)) for expected, row in counts.items()]
    return aligned(rows)
