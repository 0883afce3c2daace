"""manage.py verify_package: judge the labelled submissions of ICPC problem packages. Needs no database."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

import judge
from judge import LANGUAGES, LARGEST_FACTOR, MachineSpeed, SandboxUnavailableError
from judge.management.tables import aligned
from judge.records import MEBIBYTE
from judge.verification import (
    Calibration,
    DerivedLimit,
    FactorRange,
    PackageWork,
    Skipped,
    VerifiedSubmission,
    calibrate,
    find_packages,
    plan,
    verify,
)

_INTERPRETERS = {"cpython": "python", "pypy": "pypy"}
"""The judge's language for each value of --python."""


class Command(BaseCommand):
    help = (
        "Judge every labelled submission of ICPC problem packages and compare the verdicts with the labels."
    )

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
        parser.add_argument(
            "--calibrate",
            action="store_true",
            help="print the factors of the time limits at which all verdicts agree with the labels, and the "
            "submissions that decide them",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        python = _INTERPRETERS[options["python"]]
        works, skipped = plan(find_packages(options["folders"]), options["language"], python)
        try:
            if options["calibrate"]:
                agree = self._calibrate(works, skipped, options)
            else:
                agree = self._verify(works, skipped, options)
        except SandboxUnavailableError as error:
            raise CommandError(str(error)) from error
        if not agree:
            sys.exit(1)

    def _verify(self, works: list[PackageWork], skipped: list[Skipped], options: dict[str, Any]) -> bool:
        """Print the verdicts; return whether all labels agree and no package is broken."""
        with _progress(works) as bar:

            def count(_: VerifiedSubmission) -> None:
                bar.update()

            found = verify(works, options["jobs"], count, fork_server=not options["fresh_start"])
        results, skipped = found.results, [*skipped, *found.skipped]
        if options["json"]:
            self.stdout.write(json.dumps(_document(results, found.derived, skipped), indent=2))
        else:
            self.stdout.write(_text(results, found.derived, skipped))
        agree = bool(results) and all(result.agree for result in results)
        return agree and not any(one.broken for one in skipped)

    def _calibrate(self, works: list[PackageWork], skipped: list[Skipped], options: dict[str, Any]) -> bool:
        """Print the ranges of factors; return whether one factor satisfies all labels and no package is broken."""
        speed = judge.measure_speed()
        with _progress(works) as bar:
            found = calibrate(works, options["jobs"], bar.update, fork_server=not options["fresh_start"])
        skipped = [*skipped, *found.skipped]
        if options["json"]:
            self.stdout.write(json.dumps(_calibration_document(found, speed, skipped), indent=2))
        else:
            self.stdout.write(_calibration_text(found, speed, skipped))
        agree = bool(found.packages) and not found.shared.is_empty
        return agree and not any(one.broken for one in skipped)


def _progress(works: list[PackageWork]) -> tqdm[NoReturn]:
    return tqdm(total=sum(len(work.submissions) for work in works), unit="submission", file=sys.stderr)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _document(
    results: list[VerifiedSubmission], derived: list[DerivedLimit], skipped: list[Skipped]
) -> dict[str, Any]:
    return {
        "agree": sum(result.agree for result in results),
        "total": len(results),
        "confusion": {expected: dict(row) for expected, row in _confusion(results).items()},
        "submissions": [result.to_json() for result in results],
        "derived_limits": [one.to_json() for one in derived],
        "left_out": [one.to_json() for one in skipped],
    }


def _text(results: list[VerifiedSubmission], derived: list[DerivedLimit], skipped: list[Skipped]) -> str:
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
    return "\n".join([*lines, *_derived_lines(derived), *_skipped_lines(skipped)])


def _derived_lines(derived: list[DerivedLimit]) -> list[str]:
    if not derived:
        return []
    lines = ["", "Derived time limits:"]
    for one in derived:
        languages = "C++ and Java" if one.by_language else "all languages"
        lines.append(
            f"  {one.package.name}: {one.limit:g} s, the {one.time:.2f} s of {one.slowest.name} (the slowest accepted "
            f"submission in {languages}) times {one.package.time_multiplier:g}, rounded up"
        )
    return lines


def _skipped_lines(skipped: list[Skipped]) -> list[str]:
    if not skipped:
        return []
    entries = (f"  {'/'.join(filter(None, (one.package, one.file)))}: {one.reason}" for one in skipped)
    return ["", "Skipped:", *entries]


def _calibration_document(found: Calibration, speed: MachineSpeed, skipped: list[Skipped]) -> dict[str, Any]:
    return {
        "machine": {"factor": round(speed.factor, 4), "spread": round(speed.spread, 4)},
        "range": found.shared.to_json(),
        "packages": [one.to_json() for one in found.packages],
        "derived_limits": [one.to_json() for one in found.derived],
        "left_out": [one.to_json() for one in skipped],
    }


def _calibration_text(found: Calibration, speed: MachineSpeed, skipped: list[Skipped]) -> str:
    rows = [("package", "limit", "from", "set by", "to", "set by", "limit / slowest", "fastest TLE / limit")]
    for one in found.packages:
        accepted, timeout = one.accepted_margin, one.timeout_margin
        rows.append(
            (
                one.package.name,
                f"{one.time_limit:g} s",
                *_range_cells(one.range),
                f"{_ratio(accepted)} (labels: {one.package.time_multiplier:g})",
                f"{_ratio(timeout)} (labels: {one.package.safety_margin:g})",
            )
        )
    if not found.packages:
        rows = []
    lines = ["Factors of the time limits at which all verdicts agree with the labels:", *aligned(rows)]
    if not found.packages:
        lines = ["No submission was judged."]
    elif found.shared.is_empty:
        lines += ["", "No factor satisfies the labels of all packages."]
        lines += [f"  {text}" for text in found.shared.disagreeing]
    if found.packages:
        lower, low_by, upper, up_by = _range_cells(found.shared)
        lines += ["", f"All packages: from {lower} ({low_by}) to {upper} ({up_by})."]
    lines.append(
        f"This machine needs {speed.factor:.2f} times the CPU time of the reference machine (spread of the "
        f"measurement {speed.spread:.0%})."
    )
    return "\n".join([*lines, *_derived_lines(found.derived), *_skipped_lines(skipped)])


def _range_cells(found: FactorRange) -> tuple[str, str, str, str]:
    """Return both ends of the range, each with the submission that decides it."""
    lower, upper = found.lower, found.upper
    return (
        _ratio(lower.ratio if lower else None),
        f"{lower.package}/{lower.submission.name}" if lower else "no submission",
        _ratio(upper.ratio if upper else None),
        f"{upper.package}/{upper.submission.name}" if upper else "no submission",
    )


def _ratio(value: float | None) -> str:
    if value is None:
        return "any"
    return f"{value:.2f}" if math.isfinite(value) else f"over {LARGEST_FACTOR:.2f}"


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
