"""The table of labels: a row for each message of each review."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tutoring.models import Review, Session
from tutoring.review.content import Content

COLUMNS = (
    "session", "problem", "rule_set", "review", "place", "reviewer", "message", "clauses", "level", "stage",
    "quotes", "note", "reasons", "verdict", "worst", "comment", "submitted_at", "active_seconds", "invalidated",
    "number", "outcome", "outcome_claimed",
)  # fmt: skip


def label_rows(
    sessions: Iterable[Session], reviews_of: Callable[[Session], Iterable[Review]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the column names, then the rows. The column `invalidated` marks sessions that no figure counts.

    Select `problem__dataset` and prefetch `reviews` of the sessions. The column `place` is the slot of the review.
    """
    yield COLUMNS
    for session in sessions:
        for review in reviews_of(session):
            content = Content.from_json(review.content)
            head = (session.pk, session.problem or "", review.rule_set, review.pk, review.slot, review.by)
            tail = (
                content.verdict, content.worst or "", _cell(content.comment),
                review.submitted_at.isoformat() if review.submitted_at else "", review.active_seconds,
                "invalidated" if session.invalidated else "",
                session.number or "", session.outcome, "claimed" if session.outcome_claimed else "",
            )  # fmt: skip
            for labels in content.messages:
                quotes = " | ".join(f"{quote.clause}: {quote.exact}" for quote in labels.quotes)
                reasons = " | ".join(f"{reason.clause}: {reason.text}" for reason in labels.reasons)
                yield (
                    *head, labels.seq, " ".join(labels.clauses), labels.level, labels.stage, _cell(quotes),
                    _cell(labels.note), reasons, *tail,
                )  # fmt: skip


def _cell(text: str) -> str:
    """Return the text with a leading quote if a spreadsheet would read it as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
