"""manage.py reproduce: recompute published figures that need no model."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.reproduction import CONSISTENCY, RECOMPUTED, REPRODUCTIONS, DataMissingError, PublishedData
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Recompute published figures that need no model, and print the expected and the obtained values. Figures "
        f"{RECOMPUTED} and the {CONSISTENCY} are listed separately, with the choices that were made after the result "
        f"was seen. The exit status is 0 if all are computed and agree. Names: {', '.join(sorted(REPRODUCTIONS))}."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
        parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the published data")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        if options["data"] and not options["data"].is_dir():
            raise CommandError(f"--data {options['data']} is not a folder.")
        unknown = [name for name in options["names"] if name not in REPRODUCTIONS]
        if unknown:
            raise CommandError(
                f"There is no {', '.join(unknown)}. There are: {', '.join(sorted(REPRODUCTIONS))}."
            )
        files = PublishedData(options["data"])
        names = options["names"] or sorted(REPRODUCTIONS, key=lambda name: int(name.partition("-")[2]))
        if options["json"]:
            results = [_reproduce(name, files) for name in names]
            self.stdout.write(json.dumps({"results": results}, ensure_ascii=False))
        else:
            results = self._printed(names, files)
        without = [result["name"] for result in results if result["missing"]]
        differing = [result["name"] for result in results if not result["missing"] and not result["agrees"]]
        failures = [f"Not as published: {', '.join(differing)}."] if differing else []
        failures += [f"Data missing: {', '.join(without)}."] if without else []
        if failures:
            raise CommandError(" ".join(failures))

    def _printed(self, names: Sequence[str], files: PublishedData) -> list[dict[str, Any]]:
        """Print the figures recomputed from data, then the consistency of printed numbers, each with a summary."""
        results: list[dict[str, Any]] = []
        for kind in (RECOMPUTED, CONSISTENCY):
            chosen = [name for name in names if REPRODUCTIONS[name].kind == kind]
            if not chosen:
                continue
            self.stdout.write(f"== {kind.capitalize()} ==")
            of_kind = []
            for name in chosen:
                of_kind.append(_reproduce(name, files))
                self.stdout.write("\n".join(_lines(of_kind[-1])))
            self.stdout.write(_summary(kind, of_kind) + "\n")
            results += of_kind
        return results


def _summary(kind: str, results: Sequence[dict[str, Any]]) -> str:
    computed = [result for result in results if not result["missing"]]
    agreeing = sum(result["agrees"] for result in computed)
    missing = len(results) - len(computed)
    chosen = [result["name"] for result in results if result["chosen_after"]]
    summary = f"{kind.capitalize()}: {agreeing} of {len(computed)} agree"
    summary += f", data missing for {missing}." if missing else "."
    return summary + (f" With a choice made after seeing the result: {', '.join(chosen)}." if chosen else "")


def _reproduce(name: str, files: PublishedData) -> dict[str, Any]:
    reproduction = REPRODUCTIONS[name]
    result: dict[str, Any] = {
        "name": name,
        "title": reproduction.title,
        "kind": reproduction.kind,
        "missing": "",
        "agrees": False,
        "chosen_after": list(reproduction.chosen_after),
        "checks": [],
    }
    try:
        checks = list(reproduction.checks(files))
    except DataMissingError as error:
        return result | {"missing": str(error)}
    return result | {"agrees": all(one.agrees for one in checks), "checks": [asdict(one) for one in checks]}


def _lines(result: dict[str, Any]) -> list[str]:
    head = f"{result['name']}: {result['title']}"
    choices = result["chosen_after"]
    notes = [
        f"[{number}] Chosen after the result was seen: {choice}" for number, choice in enumerate(choices, 1)
    ]
    if result["missing"]:
        return [head, *(f"  {line}" for line in [result["missing"], *notes])]
    rows = [("", "expected", "obtained", "")]
    for check in result["checks"]:
        agrees = "agrees" if check["agrees"] else "DIFFERS"
        mark = f" [{choices.index(check['chosen_after']) + 1}]" if check["chosen_after"] else ""
        rows.append((check["figure"], check["expected"], check["obtained"], agrees + mark))
    return [head, *(f"  {line}" for line in [*aligned(rows), *notes])]
