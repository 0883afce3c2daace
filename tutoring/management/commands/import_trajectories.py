"""`manage.py import_trajectories PATH…`: import the dialogues of the paper's authors, or our own JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from tqdm import tqdm

from benchmark.models import Problem
from tutoring.checks.checking import check_session
from tutoring.checks.findings import findings_of, latest_check, to_json
from tutoring.models import Event, Session, WithdrawnSession
from tutoring.trajectories.import_usaco_transcripts import count_generations, read_dialogue
from tutoring.trajectories.json_lines import DifferingRecordError, TrajectoryError, read_record, store_record


class Read(NamedTuple):
    """A validated record with its place (file and line), and its problem if that is stored here."""

    place: str
    record: dict[str, Any]
    problem: Problem | None


class Command(BaseCommand):
    help = (
        "Import recorded tutoring sessions: the paper's [{role, content}] files (.json), or files of "
        "export_trajectories (.jsonl)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths", nargs="+", type=Path, metavar="PATH", help="a .json or .jsonl file, or a folder"
        )
        parser.add_argument("--dataset", default="", help="match problems in this dataset only")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *_: Any, paths: list[Path], dataset: str, **options: Any) -> None:
        problems = Problem.objects.select_related("dataset")
        if dataset:
            problems = problems.filter(dataset__name=dataset)
            if not problems.exists():
                raise CommandError(
                    f"There is no dataset {dataset!r} with problems. Import it with import_problems."
                )
        try:
            report = import_files(_files(paths), list(problems))
        except TrajectoryError as error:
            raise CommandError(f"{error} Nothing was imported.") from None
        if options["json"]:
            self.stdout.write(json.dumps({"trajectories": report}, indent=2, ensure_ascii=False))
            return
        for row in report:
            if row["state"] == "erased":
                self.stdout.write(f"{row['file']}: not imported, session {row['id']} was erased here")
                continue
            if row["state"] == "differs":
                self.stdout.write(f"{row['place']}: not imported, {row['fault']}")
                continue
            self.stdout.write(
                f"{row['file']}: {row['problem'] or 'problem unknown'}, {row['messages']} messages, "
                f"{row['code_generations']} code generations, attempt {row['number'] or 'unknown'}, "
                f"{'claimed: ' * row['outcome_claimed']}{row['outcome'] or 'outcome unknown'}, {row['state']}"
            )
            for finding in row["findings"]:
                self.stdout.write(f"  {finding['rule']}: {finding['quote']!r} {finding['message']}")


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.suffix in (".json", ".jsonl"))
        elif path.is_file():
            files.append(path)
        else:
            raise CommandError(f"{path} does not exist.")
    if not files:
        raise CommandError("No .json or .jsonl file was found there.")
    return files


def import_files(files: list[Path], problems: list[Problem]) -> list[dict[str, Any]]:
    """Import all files or none; return one report row per trajectory. Raises TrajectoryError at the first fault.

    Sessions that were erased here, by a withdrawal or the retention period, are skipped. So are records that contradict
    a stored session; their rows say why.
    """
    report: list[dict[str, Any]] = []
    with transaction.atomic():
        for file in tqdm(files, desc="trajectories", unit="file", disable=None):
            for place, record, problem in _read(file, problems):
                about = {"file": file.name, "id": record["id"]}
                if WithdrawnSession.objects.filter(session=record["id"]).exists():
                    report.append({**about, "state": "erased"})
                    continue
                try:
                    stored = store_record(record, problem, read_here=file.suffix == ".json")
                except DifferingRecordError as error:
                    report.append({**about, "place": place, "fault": str(error), "state": "differs"})
                    continue
                except TrajectoryError as error:
                    raise TrajectoryError(f"{place}: {error}") from None
                session = stored or Session.objects.select_related("problem", "protocol").get(pk=record["id"])
                # Checks in the record were made with its problem, which may be missing here.
                findings = findings_of(latest_check(session) or check_session(session))
                report.append(
                    {
                        **about,
                        "problem": problem and str(problem),
                        "messages": sum(
                            event["kind"] in (Event.Kind.MESSAGE, Event.Kind.REPLY)
                            for event in record["events"]
                        ),
                        "code_generations": count_generations(record["events"]),
                        "number": session.number,
                        "outcome": session.outcome,
                        "outcome_claimed": session.outcome_claimed,
                        "findings": [to_json(finding) for finding in findings],
                        "state": "imported" if stored else "unchanged",
                    }
                )
    return report


def _read(file: Path, problems: list[Problem]) -> list[Read]:
    if file.suffix == ".json":
        return [Read(file.name, *read_dialogue(file, problems))]
    known = {(problem.dataset.name, problem.external_id): problem for problem in problems}
    records: list[Read] = []
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            record = read_record(line, place := f"{file.name}, line {number}")
            about = record.get("problem") or {}
            problem = known.get((str(about.get("dataset")), str(about.get("id"))))
            records.append(Read(place, record, problem))
    if not records:
        raise TrajectoryError(f"{file.name}: the file is empty.")
    return records
