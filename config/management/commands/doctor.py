"""`manage.py doctor`: what this machine lacks, what stops working without it, and the exact fix."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config.doctor import Need, Part, examine


class Command(BaseCommand):
    help = "Examine every system part. Exit status 1 when something necessary is missing."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.add_argument(
            "--problems", action="store_true", help="print only missing parts that are necessary or useful"
        )

    def handle(self, *arguments: Any, **options: Any) -> None:
        parts = list(examine())
        healthy = all(part.ok for part in parts if part.need == Need.NECESSARY)
        if options["json"]:
            self.stdout.write(
                json.dumps({"ok": healthy, "parts": [asdict(part) for part in parts]}, indent=2)
            )
        else:
            for part in parts:
                if not options["problems"] or (not part.ok and part.need != Need.OPTIONAL):
                    self._print(part)
        if not healthy:
            sys.exit(1)

    def _print(self, part: Part) -> None:
        sign = "ok     " if part.ok else {Need.OPTIONAL: "absent "}.get(part.need, "MISSING")
        self.stdout.write(f"{sign} {part.name}: {part.detail}")
        if not part.ok:
            self.stdout.write(f"        without it: {part.without}\n        to fix it:  {part.fix}")
