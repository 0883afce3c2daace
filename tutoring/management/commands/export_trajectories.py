"""`manage.py export_trajectories`: write recorded sessions in the formats of this and other programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from tutoring.checks.records import recorded_checks
from tutoring.models import Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.replay.records import to_records as replays
from tutoring.review.label_table import label_rows
from tutoring.review.records import submitted_reviews
from tutoring.scores.records import to_records as program_scores
from tutoring.trajectories.datasets import write_folder
from tutoring.trajectories.inspect_logs import to_logs
from tutoring.trajectories.json_lines import RECORDED, to_lines, to_record
from tutoring.views.standalone_page import standalone_page

CHUNK = 200
"""Sessions per database read."""


class Command(BaseCommand):
    help = (
        "Write recorded sessions with their submitted reviews. jsonl and csv are written to standard output. html, "
        "inspect and datasets are written as files in a folder, and their paths are printed. import_trajectories "
        "reads jsonl."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--format",
            choices=["jsonl", "html", "inspect", "datasets", "csv"],
            default="jsonl",
            help="jsonl: everything, one session per line (default). html: a page per session that needs no server. "
            "inspect: logs of inspect_ai. datasets: a folder of the datasets library. csv: the labels",
        )
        parser.add_argument("--session", type=UUID, help="only the session with this id")
        parser.add_argument(
            "--output",
            type=Path,
            metavar="FOLDER",
            help="folder for the files (default: trajectories-FORMAT)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        sessions = Session.objects.select_related(
            "problem__dataset", "protocol", "model", "tutor", "judgement"
        )
        if options["session"] is not None:
            sessions = sessions.filter(pk=options["session"])
            if not sessions.exists():
                raise CommandError(f"There is no session {options['session']}.")
        found = sessions.prefetch_related(*RECORDED).order_by("recorded_at", "pk")
        if options["format"] in _STREAMS:
            if options["output"] is not None:
                raise CommandError(
                    f"--format {options['format']} is written to standard output; remove --output."
                )
            _STREAMS[options["format"]](found.iterator(CHUNK), self.stdout)
            return
        folder = options["output"] or Path(f"trajectories-{options['format']}")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} exists and is not an empty folder. Choose another with --output.")
        for path in _FOLDERS[options["format"]](found, folder):
            self.stdout.write(str(path))


def _records(sessions: SessionQuerySet) -> Iterator[dict[str, Any]]:
    for session in sessions.iterator(CHUNK):
        yield to_record(
            session,
            submitted_reviews(session),
            recorded_checks(session),
            program_scores(session),
            replays(session),
        )


def _write_lines(sessions: Iterable[Session], out: Any) -> None:
    for line in to_lines(sessions):
        out.write(line, ending="")


def _write_labels(sessions: Iterable[Session], out: Any) -> None:
    csv.writer(out, lineterminator="\n").writerows(label_rows(sessions, submitted_reviews))


def _write_pages(sessions: SessionQuerySet, folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions.iterator(CHUNK):
        path = folder / f"session-{session.pk}.html"
        path.write_text(standalone_page(session, findings=True, shows_facts=True), encoding="utf-8")
        yield path


def _write_logs(sessions: SessionQuerySet, folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, log in to_logs(_records(sessions), timezone.now()).items():
        path = folder / name
        path.write_text(json.dumps(log, ensure_ascii=False, indent=1), encoding="utf-8")
        yield path


def _write_datasets(sessions: SessionQuerySet, folder: Path) -> list[Path]:
    return write_folder(_records(sessions), folder)


_STREAMS: dict[str, Callable[[Iterable[Session], Any], None]] = {
    "jsonl": _write_lines,
    "csv": _write_labels,
}
_FOLDERS: dict[str, Callable[[SessionQuerySet, Path], Iterable[Path]]] = {
    "html": _write_pages,
    "inspect": _write_logs,
    "datasets": _write_datasets,
}
