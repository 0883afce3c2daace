"""`manage.py check_drafts`: check the texts of a file as drafts of a tutor's next message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_named_problem
from tutoring.checks.contexts import problem_context
from tutoring.rules import Detection, MessageContext
from tutoring.rules.detectors import detect
from tutoring.sessions.dialogue import MAXIMUM_MESSAGE


class WrittenDraft(NamedTuple):
    """A draft and the program that it answers, which is empty if there is none."""

    text: str
    program: str


class Command(BaseCommand):
    help = (
        "Check drafts of a tutor's next message against the rules, as the session's page does, and print the findings "
        "for each draft. Hidden tests are not read. No finding does not mean that a message is allowed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help='a JSON list of texts, or of {"text": …, "program": …}; "program" overrides --program',
        )
        parser.add_argument(
            "--problem", required=True, metavar="DATASET/ID", help="the problem of the session"
        )
        parser.add_argument("--program", type=Path, metavar="FILE", help="the student's last program")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *_: Any, file: Path, problem: str, program: Path | None, **options: Any) -> None:
        context = problem_context(find_named_problem(problem))
        drafts = _drafts(file, _text(program) if program else "")
        checked = [(draft, detect(draft.text, _after(context, draft))) for draft in drafts]
        if options["json"]:
            document = [
                {"text": draft.text, "findings": [_finding(one) for one in found]} for draft, found in checked
            ]
            self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))
            return
        for number, (draft, found) in enumerate(checked, 1):
            self.stdout.write(f"draft {number}: {len(found)} findings")
            for one in found:
                quote = draft.text[one.start : one.end]
                self.stdout.write(
                    f"  {one.clause}, {one.severity}, {one.start}–{one.end}, {one.detector}: “{quote}” "
                    f"{one.explanation}"
                )


def _after(context: MessageContext, draft: WrittenDraft) -> MessageContext:
    return context.after_program(draft.program) if draft.program else context


def _finding(detection: Detection) -> dict[str, Any]:
    return {
        "clause": detection.clause,
        "severity": detection.severity,
        "start": detection.start,
        "end": detection.end,
        "detector": detection.detector,
        "explanation": detection.explanation,
    }


def _drafts(file: Path, program: str) -> list[WrittenDraft]:
    try:
        rows = json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise CommandError(f"{file} is not JSON: {error}.") from None
    if not isinstance(rows, list):
        raise CommandError(f"{file} must contain a JSON list of drafts.")
    return [_draft(row, f"{file}, draft {number}", program) for number, row in enumerate(rows, 1)]


def _draft(row: object, place: str, program: str) -> WrittenDraft:
    if isinstance(row, str):
        row = {"text": row}
    if not isinstance(row, dict) or not row.keys() <= {"text", "program"}:
        raise CommandError(f'{place}: write a text, or an object with "text" and, if you like, "program".')
    text, own = row.get("text"), row.get("program", program)
    if not isinstance(text, str) or not isinstance(own, str):
        raise CommandError(f'{place}: "text" and "program" must be texts, and "text" is required.')
    if len(text) > MAXIMUM_MESSAGE:
        raise CommandError(
            f"{place} has {len(text):,} characters; at most {MAXIMUM_MESSAGE:,} can be checked."
        )
    return WrittenDraft(text, own)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}.") from None
