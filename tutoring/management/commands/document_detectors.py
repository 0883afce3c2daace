"""`manage.py document_detectors`: write the table of detectors into docs/codebook.md."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tutoring.checks.detector_table import write_detector_table


class Command(BaseCommand):
    help = "Write the table of detectors into docs/codebook.md. Run it after a change of a detector."

    def handle(self, *_: Any, **__: Any) -> None:
        document = settings.BASE_DIR / "docs" / "codebook.md"
        write_detector_table(document)
        self.stdout.write(f"Updated {document}.")
