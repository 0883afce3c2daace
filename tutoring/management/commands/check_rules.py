"""`manage.py check_rules`: check recorded sessions with the detectors and, on request, with a model."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.model_options import MODEL_METAVAR
from benchmark.model_calls import catalogue
from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.models import Dataset, LanguageModel
from benchmark.providers import ModelSpecError, ProviderError
from tutoring.checks.checking import check_session
from tutoring.checks.findings import findings_of, one_line, to_json
from tutoring.checks.model_checker import UnreadableAnswerError
from tutoring.checks.model_checking import check_session_with_model
from tutoring.models import RuleCheck, Session


class Command(BaseCommand):
    help = (
        "Check the tutors' messages of all closed sessions against the current rule set and store the findings. "
        "Sessions without a change since their last check are skipped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", default="", help="check only sessions on problems of this dataset")
        parser.add_argument(
            "--model",
            metavar=MODEL_METAVAR,
            help="also check with this model: one paid call for each message of a session that it has not checked",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *_: Any, dataset: str, model: str | None, **options: Any) -> None:
        try:
            checker = catalogue.named(model) if model else None
        except (CatalogueError, ModelSpecError) as error:
            raise CommandError(str(error)) from None
        sessions = Session.objects.filter(state=Session.State.CLOSED).select_related(
            "problem__dataset", "protocol"
        )
        if dataset:
            if not Dataset.objects.filter(name=dataset).exists():
                raise CommandError(f"There is no dataset {dataset!r}. Import it with import_problems.")
            sessions = sessions.filter(problem__dataset__name=dataset)
        report = []
        sessions = sessions.order_by("problem", "recorded_at")  # the texts of a problem are cached
        for session in tqdm(
            sessions.iterator(chunk_size=200), total=sessions.count(), unit="session", disable=None
        ):
            before = session.rule_checks.count()
            findings = findings_of(check_session(session))
            if checker is not None:
                findings += findings_of(self._check_with_model(session, checker))
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

    def _check_with_model(self, session: Session, checker: LanguageModel) -> RuleCheck:
        """Check one session with the model. Raise CommandError if a call fails; earlier sessions remain stored."""
        try:
            return check_session_with_model(session, checker)
        except (CapReachedError, ProviderError, UnreadableAnswerError) as error:
            raise CommandError(
                f"Session {session.pk}: {checker.spec}: {str(error).rstrip('.')}. Nothing was stored for this "
                "session. The sessions before it are stored; the same command continues with this one."
            ) from None
