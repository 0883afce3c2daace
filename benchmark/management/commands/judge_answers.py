"""manage.py judge_answers: judge all answers of runs on all tests, not only their attempts."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run, positive
from benchmark.management.progress import progress_bar
from benchmark.models import Run
from benchmark.runner import CannotRunError, check_judge, check_own, cores, judge_answers, unjudged_answers


class Command(BaseCommand):
    help = (
        "Judge all answers of finished chains on all tests, as the run judges its attempts. Curves over reflections "
        "and the pages of chains then have all verdicts. The scores of the run do not change, and no model is called. "
        "An interrupted command can be repeated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="ids of runs")
        parser.add_argument(
            "--jobs", type=positive, default=cores(), metavar="N", help="programs at once; default: the cores"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        found = [self._judged(run, options["jobs"]) for run in runs]
        if options["json"]:
            self.stdout.write(json.dumps({"runs": found}))
        else:
            for one in found:
                self.stdout.write("{run}: {judged} answers judged, {left} left.".format(**one))
        if any(one["left"] for one in found):
            raise CommandError("The judge failed on some answers. Repeat the command.")

    def _judged(self, run: Run, jobs: int) -> dict[str, Any]:
        try:
            check_own(run)
            check_judge(run.parameters["language"])
        except CannotRunError as error:
            raise CommandError(str(error)) from None
        answers = unjudged_answers(run)
        with progress_bar(total=len(answers), unit="answer", desc=run.method) as bar:
            try:
                judge_answers(run, answers, jobs=jobs, judged=bar.update)
            except KeyboardInterrupt:
                raise CommandError("Interrupted. Repeat the command to continue.") from None
        left = len(unjudged_answers(run))
        return {"run": str(run.pk), "judged": len(answers) - left, "left": left}
