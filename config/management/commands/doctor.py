"""`manage.py doctor`: unmet requirements of this machine, what fails without them, and the commands that help."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config.doctor import Need, Requirement, examine


class Command(BaseCommand):
    help = "Examine the requirements on this machine. Exit status 1 if a necessary one is not met."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")
        parser.add_argument(
            "--problems",
            action="store_true",
            help="print only necessary and useful requirements that are not met",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        requirements = list(examine(optional_languages=options["json"] or not options["problems"]))
        healthy = all(requirement.ok for requirement in requirements if requirement.need == Need.NECESSARY)
        if options["json"]:
            self.stdout.write(
                json.dumps(
                    {"ok": healthy, "parts": [asdict(requirement) for requirement in requirements]}, indent=2
                )
            )
        else:
            for requirement in requirements:
                if not options["problems"] or (not requirement.ok and requirement.need != Need.OPTIONAL):
                    self._print(requirement)
        if not healthy:
            sys.exit(1)

    def _print(self, requirement: Requirement) -> None:
        sign = "ok     " if requirement.ok else {Need.OPTIONAL: "absent "}.get(requirement.need, "MISSING")
        self.stdout.write(f"{sign} {requirement.name}: {requirement.detail}")
        if not requirement.ok:
            self.stdout.write(
                f"        without it: {requirement.without}\n        to fix it:  {requirement.fix}"
            )
