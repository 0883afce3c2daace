"""`manage.py score_detectors`: recall and false findings of the check of drafts on labelled drafts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from judge.management.tables import aligned
from tutoring.checks.draft_scores import DraftScores, Share, score_drafts
from tutoring.checks.labelled_drafts import CorpusError, read_drafts
from tutoring.rules import current_rule_set

DEFAULT_CORPUS = settings.BASE_DIR / "tests" / "tutoring" / "rules" / "drafts" / "development.jsonl"


class Command(BaseCommand):
    help = (
        "Check labelled drafts with all detectors. Print, for each clause, the recall and the precision, and the share "
        "of allowed messages with a finding, with Wilson intervals. A notice counts like a warning."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--corpus",
            type=Path,
            nargs="?",
            const=DEFAULT_CORPUS,
            default=DEFAULT_CORPUS,
            metavar="FILE",
            help="JSON Lines of labelled drafts, with programs.jsonl beside it; default: the development split",
        )
        parser.add_argument(
            "--misses", action="store_true", help="also list the errors for each kind of message"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *_: Any, corpus: Path, misses: bool, **options: Any) -> None:
        try:
            scores = score_drafts(read_drafts(corpus))
        except CorpusError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(_document(corpus, scores, misses), indent=2, ensure_ascii=False))
            return
        self.stdout.write(f"{corpus.name}: {len(scores.drafts)} messages")
        rows = [("clause", "recall", "", "precision", "")]
        rows += [
            (clause, *_cells(scores.recall(clause)), *_cells(scores.precision(clause)))
            for clause in sorted(current_rule_set().forbidden_codes)
        ]
        rows.append(("all", *_cells(scores.recall_of_all), "", ""))
        rows.append(("allowed, flagged", *_cells(scores.flagged_allowed), "", ""))
        self.stdout.write("\n".join(aligned(rows)))
        if misses:
            self.stdout.write(
                "\nErrors by kind: missed messages by clause; for allowed messages, what was found"
            )
            for kind, errors in scores.errors_by_kind.items():
                self.stdout.write(f"{kind} ({scores.counts_by_kind[kind]} messages)")
                for clause, ids in errors.items():
                    self.stdout.write(f"  {clause}: {' '.join(ids)}")


def _cells(share: Share) -> tuple[str, str]:
    return f"{share.hits}/{share.total}", share.percentage


def _document(corpus: Path, scores: DraftScores, misses: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "corpus": corpus.name,
        "messages": len(scores.drafts),
        "recall": {
            clause: _share(scores.recall(clause)) for clause in sorted(current_rule_set().forbidden_codes)
        },
        "precision": {
            clause: _share(scores.precision(clause)) for clause in sorted(current_rule_set().forbidden_codes)
        },
        "recall_of_all": _share(scores.recall_of_all),
        "flagged_allowed": _share(scores.flagged_allowed),
    }
    if misses:
        document["errors_by_kind"] = scores.errors_by_kind
    return document


def _share(share: Share) -> dict[str, Any]:
    interval = share.interval
    return {
        "hits": share.hits,
        "total": share.total,
        "interval": interval and [round(interval.low, 4), round(interval.high, 4)],
    }
