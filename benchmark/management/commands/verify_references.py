"""manage.py verify_references: judge the reference solutions of a dataset."""

import json
import os
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.judging.references import (
    ReferenceResult,
    missing_compiler,
    reference_work,
    store_reference_verdicts,
    verify_references,
)
from benchmark.management.arguments import chosen_problems, find_dataset, positive
from benchmark.management.progress import progress_bar
from benchmark.models import Judgement
from judge import SandboxUnavailableError, Verdict
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Judge the reference solutions of a dataset, or the programs in the analysis of a problem without any. A "
        "problem passes if one of its programs is accepted. The verdicts on all tests are stored for the gate of "
        "studies."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dataset", metavar="DATASET", help="name of a dataset")
        parser.add_argument("--samples-only", action="store_true", help="leave the hidden tests out")
        parser.add_argument(
            "--jobs",
            type=positive,
            default=len(os.sched_getaffinity(0)),
            metavar="N",
            help="problems judged at once; more than the number of cores distorts their times (default: the cores)",
        )
        parser.add_argument("--problems", metavar="ID,ID…", help="only these problems")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        problems = chosen_problems(dataset, options["problems"]) or list(
            dataset.problems.order_by("external_id").prefetch_related("references")
        )
        if not problems:
            raise CommandError(
                f"{dataset.name} has no problems. Import them with `manage.py import_problems`."
            )
        suite = Judgement.TestScope.SAMPLES if options["samples_only"] else Judgement.TestScope.ALL
        works = [reference_work(problem, suite) for problem in problems]
        try:
            with progress_bar(total=len(works), unit="problem") as bar:
                results = verify_references(works, options["jobs"], bar.update)
        except SandboxUnavailableError as error:
            raise CommandError(str(error)) from None
        if suite == Judgement.TestScope.ALL:
            store_reference_verdicts(problems, results)
        passed = sum(result.verdict is Verdict.AC for result in results)
        if options["json"]:
            references = [asdict(result) for result in results]
            document = {"references": references, "passed": passed, "problems": len(results)}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(_text(results, passed))
        failed = [result for result in results if result.verdict is Verdict.JE and result.language]
        faults = sum(not missing_compiler(result.language or "") for result in failed)
        if faults:
            raise CommandError(f"{faults} could not be judged; the reasons are in the list.")


def _text(results: list[ReferenceResult], passed: int) -> str:
    rows = [("problem", "language", "verdict", "reason")]
    rows += [(one.problem, one.language or "-", one.verdict.value, one.reason) for one in results]
    counts = Counter(one.verdict.value for one in results)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return "\n".join([*aligned(rows), "", f"{passed} of {len(results)} pass ({summary})"])
