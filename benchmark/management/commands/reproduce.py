"""manage.py reproduce: published figures that need no model, expected beside obtained."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.reproduction import REPRODUCTIONS, DataMissing, Files
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "Recompute published figures that need no model and print what was expected beside what came out. The exit "
        f"status is 0 when all were computed and agree. There are: {', '.join(sorted(REPRODUCTIONS))}."
    )

    requires_system_checks = []  # it shows no page, so it need not load them
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
        parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the published data lies")
        parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")

    def handle(self, **options: Any) -> None:
        if options["data"] and not options["data"].is_dir():
            raise CommandError(f"--data {options['data']} is no folder.")
        unknown = [name for name in options["names"] if name not in REPRODUCTIONS]
        if unknown:
            raise CommandError(
                f"There is no {', '.join(unknown)}. There are: {', '.join(sorted(REPRODUCTIONS))}."
            )
        files = Files(options["data"])
        results = []
        for name in options["names"] or sorted(REPRODUCTIONS, key=lambda name: int(name.partition("-")[2])):
            results.append(_reproduce(name, files))
            if not options["json"]:
                self.stdout.write("\n".join(_lines(results[-1])))
        if options["json"]:
            self.stdout.write(json.dumps({"results": results}, ensure_ascii=False))
        without = [result["name"] for result in results if result["missing"]]
        differing = [result["name"] for result in results if not result["missing"] and not result["agrees"]]
        said = [f"Not as published: {', '.join(differing)}."] if differing else []
        said += [f"Without their data: {', '.join(without)}."] if without else []
        if said:
            raise CommandError(" ".join(said))


def _reproduce(name: str, files: Files) -> dict[str, Any]:
    reproduction = REPRODUCTIONS[name]
    result: dict[str, Any] = {
        "name": name,
        "title": reproduction.title,
        "missing": "",
        "agrees": False,
        "checks": [],
    }
    try:
        checks = list(reproduction.checks(files))
    except DataMissing as error:
        return result | {"missing": str(error)}
    return result | {"agrees": all(one.agrees for one in checks), "checks": [asdict(one) for one in checks]}


def _lines(result: dict[str, Any]) -> list[str]:
    head = f"{result['name']}: {result['title']}"
    if result["missing"]:
        return [head, f"  {result['missing']}"]
    rows = [("", "expected", "obtained", "")]
    rows += [
        (check["figure"], check["expected"], check["obtained"], "agrees" if check["agrees"] else "DIFFERS")
        for check in result["checks"]
    ]
    return [head, *(f"  {line}" for line in aligned(rows))]
