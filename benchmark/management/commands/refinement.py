"""manage.py refinement: Refine@1 … Refine@K of runs and of ICPC-Eval's result files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.datasets import SourceError
from benchmark.management.arguments import find_dataset, find_run, positive
from benchmark.management.progress import progress_bar
from benchmark.metrics import TooFewAttemptsError
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.reports.refinement import (
    NotRefineRunError,
    attempts_allowed,
    compare_with_resampling,
    curve_of,
    differing_settings,
    refinements_of,
)
from benchmark.reports.refinement.eval_results import read_eval_results
from benchmark.reports.refinement.rejudging import rejudge
from benchmark.runner import cores
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Print Refine@1 … Refine@K with 95 % intervals, mean attempts per solved problem and tokens, for runs of the "
        "method refine or result files of ICPC-Eval. --against compares with pass@K of a run of independent attempts, "
        "at equal K and equal tokens. --judge judges the programs of a result file here and compares the verdicts. "
        "Judgements are stored: an interrupted command can be repeated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "sources", nargs="+", metavar="RUN|FILE", help="runs, or eval_results_….json files"
        )
        parser.add_argument("--against", metavar="RUN", help="a run with at least K attempts per problem")
        parser.add_argument(
            "--judge", metavar="DATASET", help="judge the files' programs on the problems of this dataset"
        )
        parser.add_argument(
            "--jobs",
            type=positive,
            default=cores(),
            metavar="N",
            help="programs judged at once (default: the cores)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        documents = []
        for source in options["sources"]:
            path = Path(source)
            if options["judge"] and not path.is_file():
                raise CommandError(
                    f"{source}: --judge needs a result file; the programs of a run are judged already."
                )
            try:
                documents.append(
                    _of_file(path, options) if path.is_file() else _of_run(source, options["against"])
                )
            except (SourceError, NotRefineRunError, TooFewAttemptsError, ValueError) as error:
                raise CommandError(f"{source}: {error}") from None
        if options["json"]:
            self.stdout.write(json.dumps({"refinements": documents}, ensure_ascii=False))
        else:
            self.stdout.write("\n\n".join(map(_text, documents)))
        if faults := [fault for one in documents for fault in one.get("judged", {}).get("faults", ())]:
            raise CommandError(
                "The judge failed. Repeat the command; finished judgements are stored.\n" + "\n".join(faults)
            )


def _of_file(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    results = read_eval_results(path)
    document = {
        "source": results.name,
        **curve_of(results.refinements, results.k).to_json(),
        "charged_empty_replies": results.charged,
        "uncharged": curve_of(results.uncharged, results.k).to_json(),
        "unfinished": list(results.unfinished),
        "inconsistencies": list(results.inconsistencies),
    }
    if options["judge"]:
        dataset = find_dataset(options["judge"])
        with progress_bar(unit="program") as bar:
            judged = rejudge(results, dataset, options["jobs"], bar.reset, bar.update)
        document["judged"] = judged.to_json()
    return document


def _of_run(name: str, against: str | None) -> dict[str, Any]:
    run = find_run(name)
    failures = run.failures
    refinements = refinements_of(run, failures=failures)
    document = {
        "source": str(run.pk),
        "failures": failures,
        **curve_of(refinements, attempts_allowed(run)).to_json(),
    }
    if against:
        other = find_run(against)
        document["against"] = {
            "run": against,
            **compare_with_resampling(run, other, failures=failures).to_json(),
            "differing_settings": differing_settings(run, other),
        }
    return document


def _text(document: dict[str, Any]) -> str:
    rows = [("k", "Refine@k", "95 %")]
    rows += [(str(one["k"]), f"{one['value']:.1%}", _interval(one)) for one in document["refine"]]
    mean = document["mean_attempts_per_solved"]
    lines = [
        f"{document['source']}: {document['solved']} of {document['chains']} chains solved, "
        f"{document['problems']} problems"
        + (f", {mean:.2f} attempts per solved" if mean else "")
        + ("" if document["tokens"] is None else f", {document['tokens']:,} tokens"),
        *aligned(rows),
    ]
    if again := document["with_restarts"]:
        lines.append(
            f"Refine@k counts the first start; {document['restarted']} chains restarted, and with all starts "
            f"{again['value']:.1%} are solved"
        )
    if document.get("charged_empty_replies"):
        last = document["uncharged"]["refine"][-1]
        lines.append(
            f"{document['charged_empty_replies']} attempts are empty replies; without them Refine@{last['k']} is "
            f"{last['value']:.1%}"
        )
    if unfinished := document.get("unfinished"):
        lines.append(f"unfinished, left out: {', '.join(unfinished)}")
    lines += [f"inconsistent: {text}" for text in document.get("inconsistencies", ())]
    if judged := document.get("judged"):
        lines += _judged(judged)
    if other := document.get("against"):
        same = other["pass_same_tokens"]
        capped = f" ({other['capped']} problems had too few attempts)" if other["capped"] else ""
        lines.append(
            f"over {other['problems']} problems: Refine@{other['k']} {other['refine']['value']:.1%}, pass@{other['k']} "
            f"{other['pass_same_k']['value']:.1%}, resampling with the same tokens "
            + (f"{same['value']:.1%}{capped}" if same else "unknown: tokens were not reported")
        )
        if differing := other["differing_settings"]:
            lines.append(f"the runs differ in settings, not only in the method: {'; '.join(differing)}")
    return "\n".join(lines)


def _judged(judged: Mapping[str, Any]) -> list[str]:
    """Return the comparison of both judges: verdicts, attempts that only one accepts, and curves."""
    lines = [
        "",
        f"judged on {judged['dataset']}: {judged['agree']} of {judged['attempts']} attempts agree "
        "(accepted or not)",
    ]
    if judged["verdicts"]:
        rows = [("published", "ours", "attempts")]
        rows += [(one["published"], one["ours"], str(one["attempts"])) for one in judged["verdicts"]]
        lines += aligned(rows)
    lines += [
        f"problem {one['problem']}, attempt {one['attempt']}: published {one['published'] or 'untold'}, "
        f"ours {one['ours']}"
        for one in judged["disagreements"]
    ]
    if judged["our_curve"]:
        rows = [("k", "Refine@k published", "ours")]
        for theirs, ours in zip(
            judged["published_curve"]["refine"], judged["our_curve"]["refine"], strict=True
        ):
            rows.append((str(ours["k"]), f"{theirs['value']:.1%}", f"{ours['value']:.1%}"))
        lines += [f"over {judged['our_curve']['problems']} problems, empty replies left out:", *aligned(rows)]
    if missing := judged["missing_problems"]:
        lines.append(f"not in {judged['dataset']}, not judged: {', '.join(missing)}")
    return lines


def _interval(one: Mapping[str, Any]) -> str:
    return f"{one['low']:.1%} to {one['high']:.1%} ({INTERVAL_NAMES[one['interval_method']]})"
