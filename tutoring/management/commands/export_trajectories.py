"""`manage.py export_trajectories`: all recorded sessions as JSON lines on standard output."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from tutoring.models import Session
from tutoring.trajectory_format import to_lines


class Command(BaseCommand):
    help = "Write recorded sessions to standard output, one a line. import_trajectories reads them back."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--format", choices=["jsonl"], default="jsonl")
        parser.add_argument("--session", help="only the session with this id")

    def handle(self, *_: Any, session: str | None, **__: Any) -> None:
        sessions = Session.objects.select_related("problem__dataset", "protocol", "tutor", "judgement")
        if session is not None:
            sessions = sessions.filter(pk=session)
        for line in to_lines(
            sessions.prefetch_related("events", "reviews").order_by("recorded_at").iterator(chunk_size=200)
        ):
            self.stdout.write(line, ending="")
