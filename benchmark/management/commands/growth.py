"""manage.py growth: measure how the CPU time of a program grows with the size of the input."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import judge
from benchmark.growth import Growth, NoSizesError, growth_of, measured_curve
from benchmark.growth.wording import limit_text, outcome_text, verdict_text
from benchmark.judging import store_submission
from benchmark.management.arguments import find_dataset, find_problem
from benchmark.models import GrowthCurve
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Measure the CPU time of a program on generated inputs of growing size, and predict it at the bounds of the "
        "statement. The inputs come from the problem's generators; hidden tests are not used. A program is measured "
        "once with each version of the generators and of the judge."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("problem", metavar="DATASET/ID", help="a problem with generators")
        parser.add_argument("file", type=Path, metavar="FILE", help="a source file")
        parser.add_argument(
            "--language", help=f"{', '.join(judge.LANGUAGES)}; default: by the name of the file"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        dataset, _, external_id = options["problem"].partition("/")
        problem = find_problem(find_dataset(dataset), external_id)
        path: Path = options["file"]
        try:
            language = judge.get_language(options["language"] or judge.language_of(path)).name
            source = path.read_text(encoding="utf-8")
            curve = measured_curve(store_submission(problem, source, language))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read: {error}") from None
        except (NoSizesError, judge.UnknownLanguageError, judge.SandboxUnavailableError) as error:
            raise CommandError(str(error)) from None
        growth = growth_of(curve)
        if growth is None:
            raise CommandError(curve.fault or "Another process measures this program. Repeat the command.")
        if options["json"]:
            document = _document(curve, growth) | {"problem": options["problem"], "file": str(path)}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(_text(curve, growth))


def _document(curve: GrowthCurve, growth: Growth) -> dict[str, Any]:
    steepest = growth.steepest
    return {
        "curve": curve.pk,
        "language": curve.submission.language,
        "slope": curve.slope,
        "interval": None if curve.slope is None else [curve.slope_low, curve.slope_high],
        "parameter": curve.parameter,
        "outcome": steepest.outcome,
        "bound": steepest.largest,
        "prediction": steepest.prediction,
        "slow": growth.slow,
        **growth.to_json(),
        "host": curve.host,
        "time_factor": curve.time_factor,
        "recipe_hash": curve.recipe_hash,
        "judge_version": curve.judge_version,
    }


def _text(curve: GrowthCurve, growth: Growth) -> str:
    lines = []
    for series in growth.series:
        rows = [(series.parameter, "CPU s", "runs")]
        rows += [(str(one.size), f"{one.seconds:.3f}", str(len(one.times))) for one in series.points]
        lines += [*aligned(rows), "", outcome_text(series, growth), ""]
    lines += [limit_text(growth), verdict_text(growth), f"Page: {curve.get_absolute_url()}"]
    return "\n".join(lines)
