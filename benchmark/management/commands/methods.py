"""manage.py methods: every method with its source, its calls and its settings, and every profile."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmark.methods import METHODS, PROFILES, Profile, count_calls
from benchmark.methods.settings import describe_settings
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "List the methods of run_baseline: what each does, where it is from, and how many calls an attempt takes. "
        "List the profiles: their settings, and what is assumed where a paper is silent."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("method", nargs="?", choices=METHODS, help="tell of this one, with its settings")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

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
            told = [method.name, method.summary, f"Source: {method.source}.", method.warning]
            told += [f"Calls an attempt: {count_calls(method)}.", describe_settings(method.settings)]
            self.stdout.write("\n".join(text for text in told if text))
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
