"""manage.py calibrate: coverage of intervals in simulated studies."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.calibration import CALIBRATIONS, LEAST_COVERAGE, SEEDS, Result
from benchmark.management.arguments import positive
from benchmark.management.progress import progress_bar
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Simulate studies with a known true value, and print the coverage of the intervals, the expected coverage and "
        "that of the percentile bootstrap. The exit status is 1 if an interval that claims 95 % covers less than "
        f"{100 * LEAST_COVERAGE:.0f} % minus two Monte Carlo errors."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", choices=sorted(CALIBRATIONS), metavar="NAME", help=", ".join(sorted(CALIBRATIONS))
        )
        parser.add_argument(
            "--studies",
            type=positive,
            default=1_000,
            metavar="N",
            help=f"simulated studies with each of the {len(SEEDS)} seeds; default: 1000",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        calibration, studies = CALIBRATIONS[options["name"]], options["studies"]
        with progress_bar(range(len(calibration.cells)), unit="cell") as bar:
            results = [calibration.run(number, studies) for number in bar]
        if options["json"]:
            document = {
                "name": calibration.name,
                "title": calibration.title,
                "studies": studies,
                "seeds": SEEDS,
                "least_coverage": LEAST_COVERAGE,
                "results": [one.to_json() for one in results],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(f"{calibration.title}: {studies} studies with each of the seeds {SEEDS}")
            self.stdout.write("\n".join(_lines(results)))
        missed = [one for one in results if not one.holds]
        if missed:
            named = "; ".join(f"{one.cell.estimator}, {one.cell.problems} problems" for one in missed)
            raise CommandError(f"Coverage too low: {named}.")


def _lines(results: list[Result]) -> list[str]:
    head = (
        "estimator",
        "problems",
        "inside a problem",
        "truth",
        "expected",
        "obtained",
        "± MC",
        "bootstrap",
        "",
    )
    rows = [head]
    for one in results:
        cell = one.cell
        rows.append(
            (
                cell.estimator,
                str(cell.problems),
                cell.inside,
                f"{cell.truth:.3f}",
                cell.expected,
                f"{100 * one.coverage:.1f} %",
                f"{100 * one.monte_carlo_error:.1f}",
                "" if one.bootstrap is None else f"{100 * one.bootstrap:.1f} %",
                "" if one.holds else "TOO LOW",
            )
        )
    return aligned(rows)
