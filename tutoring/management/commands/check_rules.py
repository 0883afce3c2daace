"""`manage.py check_rules`: run the detectors over recorded sessions."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.models import Dataset
from tutoring.actions import check_session
from tutoring.models import Session
from tutoring.rules.findings import findings_of, one_line, to_json


class Command(BaseCommand):
    help = (
        "Compare the tutors' messages of closed sessions with the current rule set and store what is found. What was "
        "checked before and has not changed is not checked again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", default="", help="sessions on problems of this dataset only")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *_: Any, dataset: str, **options: Any) -> None:
        sessions = Session.objects.filter(state=Session.State.CLOSED).select_related(
            "problem__dataset", "protocol"
        )
        if dataset:
            if not Dataset.objects.filter(name=dataset).exists():
                raise CommandError(f"There is no dataset {dataset!r}. Import it with import_problems.")
            sessions = sessions.filter(problem__dataset__name=dataset)
        report = []
        sessions = sessions.order_by("problem", "recorded_at")  # problem by problem: their texts are kept
        for session in tqdm(
            sessions.iterator(chunk_size=200), total=sessions.count(), unit="session", disable=None
        ):
            before = session.rule_checks.count()
            findings = findings_of(check_session(session))
            report.append(
                {
                    "id": str(session.pk),
                    "file": ((session.source.get("head") or {}).get("source") or {}).get("file"),
                    "problem": session.problem and str(session.problem),
                    "state": "checked" if session.rule_checks.count() > before else "unchanged",
                    "findings": [to_json(finding) for finding in findings],
                }
            )
            if not options["json"]:
                self.stdout.write(
                    f"{session.pk} {session.problem or 'problem unknown'}: {len(findings)} findings"
                )
                for finding in findings:
                    self.stdout.write(f"  {one_line(finding)}")
        if options["json"]:
            self.stdout.write(json.dumps({"sessions": report}, indent=2, ensure_ascii=False))
