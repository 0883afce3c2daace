"""manage.py methods: list the methods with source, calls and settings, and the profiles."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmark.methods import METHODS, PROFILES, Profile, count_calls
from benchmark.methods.settings import describe_settings
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "List the methods of run_baseline with their sources and the calls of an attempt, and the profiles with their "
        "settings and assumptions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "method", nargs="?", choices=METHODS, help="describe this method and its settings"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        chosen = [METHODS[options["method"]]] if options["method"] else list(METHODS.values())
        if options["json"]:
            rows = [
                {
                    "name": method.name,
                    "summary": method.summary,
                    "source": method.source,
                    "caveat": method.warning,
                    "calls": count_calls(method),
                }
                for method in chosen
            ]
            profiles = [profile.to_json() for profile in PROFILES.values()]
            self.stdout.write(json.dumps({"methods": rows, "profiles": profiles}, ensure_ascii=False))
        elif options["method"]:
            [method] = chosen
            lines = [method.name, method.summary, f"Source: {method.source}.", method.warning]
            lines += [f"Calls an attempt: {count_calls(method)}.", describe_settings(method.settings)]
            self.stdout.write("\n".join(text for text in lines if text))
        else:
            table = [("method", "calls", "source")]
            table += [(method.name, count_calls(method), method.source) for method in chosen]
            for line in aligned(table):
                self.stdout.write(line)
            for profile in PROFILES.values():
                self.stdout.write("\n".join(_lines(profile)))


def _lines(profile: Profile) -> list[str]:
    special = [
        f"with {part!r} in the {what}: {' '.join(settings)}"
        for what, table in (("method", profile.methods), ("model", profile.models))
        for part, settings in table.items()
    ]
    return [
        "",
        f"Profile {profile.name} (version {profile.version}): {profile.summary}",
        f"  Settings: {' '.join(profile.settings)}",
        *(f"  {line}" for line in special),
        f"  Assumed: {profile.assumed}",
    ]
