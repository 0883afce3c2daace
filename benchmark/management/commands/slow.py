"""manage.py slow: start programs of a dataset, and the figures of runs that repair slow programs."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import judge
from benchmark.growth.starts import find_starts
from benchmark.judging import perform, request_judgement
from benchmark.management.arguments import find_dataset, find_run
from benchmark.management.progress import progress_bar
from benchmark.models import Judgement, Submission
from benchmark.reports.slow import SlowRunsError, slow_report, slow_text


class Command(BaseCommand):
    help = (
        "Show the start programs of a dataset (stored programs whose only failures are exceeded time limits), or "
        "compare runs of the arms slow-* with a run of slow-told over the same start programs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True)
        starts = commands.add_parser("starts", help="the start programs of a dataset")
        starts.add_argument("dataset", metavar="DATASET", help="name of a dataset")
        starts.add_argument(
            "--language",
            default="python",
            choices=sorted(judge.LANGUAGES),
            help="language of the programs; default: %(default)s",
        )
        starts.add_argument(
            "--measure",
            action="store_true",
            help="judge programs of unknown correctness with four times the time limit",
        )
        report = commands.add_parser("report", help="the figures of runs")
        report.add_argument(
            "runs", nargs="+", metavar="RUN", help="ids of runs of the arms slow-*, with a run of slow-told"
        )
        report.add_argument(
            "--measure", action="store_true", help="measure the growth of start and last programs first"
        )
        for command in (starts, report):
            command.add_argument(
                "--json", action="store_true", help="print one JSON document to standard output"
            )

    def handle(self, **options: Any) -> None:
        if options["subcommand"] == "starts":
            self._starts(options)
            return
        try:
            report = slow_report([find_run(name) for name in options["runs"]], measure=options["measure"])
        except SlowRunsError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(report.to_json(), ensure_ascii=False))
        else:
            self.stdout.write(slow_text(report))

    def _starts(self, options: dict[str, Any]) -> None:
        dataset, language = find_dataset(options["dataset"]), options["language"]
        problems = list(dataset.problems.only("pk", "external_id", "content_hash"))
        starts = find_starts(problems, language)
        if options["measure"]:
            unknown = [one.submission for of in starts.values() for one in of if not one.right]
            with progress_bar(unknown, unit="program") as bar:
                for submission in bar:
                    _score(Submission.objects.get(pk=submission))
            starts = find_starts(problems, language)
        rows = [vars(one) for of in starts.values() for one in of]
        if options["json"]:
            self.stdout.write(json.dumps({"dataset": dataset.name, "language": language, "starts": rows}))
            return
        right = sum(row["right"] for row in rows)
        self.stdout.write(
            f"{len(rows)} start programs in {language} at {len(starts)} problems: {right} right but slow, "
            f"{len(rows) - right} unknown."
        )
        for row in rows:
            kind = "right but slow" if row["right"] else "unknown"
            self.stdout.write(f"{row['problem']}  program {row['submission']}  {kind}")


def _score(submission: Submission) -> None:
    """Judge the program on all tests, and with four times the time limit if it only exceeds the limit."""
    judgement = request_judgement(submission, purpose=Judgement.Purpose.SCORE, stop_at_first_failure=False)
    perform(judgement.pk)
