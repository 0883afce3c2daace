"""Recorded sessions and their reviews, made with the actions that the pages call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User

from tutoring.models import Review, Session
from tutoring.review.actions import Adjudicate, ClaimNext, SubmitReview, independent_contents
from tutoring.review.content import ClauseReason, Content, MessageLabels, differing_clauses
from tutoring.trajectories.json_lines import read_record, store_record
from tutoring.trajectories.record_schema import SCHEMA

PROGRAM = "Like this:\n\n```python\nprint(2 * int(input()))\n```\n"


def recorded_session(session_id: str, said: Sequence[str], **head: Any) -> Session:
    """Import a session in which a program follows each message of the tutor. Messages are events 1, 3, 5 …"""
    events: list[dict[str, Any]] = []
    for number, text in enumerate(said, start=1):
        reply = dict.fromkeys(
            ("code_requested", "model", "finish_reason", "usage", "started_at", "first_text_at")
        )
        reply |= {"text": PROGRAM, "reasoning": "", "stopped": False, "generation": number, "code": "print()"}
        events.append({"kind": "message", "data": {"mode": None, "text": text, "sent": text}})
        events.append({"kind": "reply", "data": reply})
    record = {
        "schema": SCHEMA,
        "id": session_id,
        "state": "closed",
        "outcome": "solved",
        "language": "python",
        "code_generations": len(said),
        "source": {"file": f"{session_id[:8]}.json"},
        **head,
        "events": [{"seq": seq, "by": "", "at": None, **event} for seq, event in enumerate(events, start=1)],
        "reviews": [],
        "rule_checks": [],
    }
    session = store_record(read_record(json.dumps(record), "test"), None)
    assert session is not None
    return session


def reading(
    session: Session, *clauses: str, verdict: str | None = None, comment: str = "", level: int = 1
) -> Content:
    """Return the content of a complete review: one clause for each message in turn (A6 by default)."""
    seqs = [event.seq for event in session.events.filter(kind="message")]
    chosen = [*clauses, *["A6"] * (len(seqs) - len(clauses))]
    labels = [
        MessageLabels(seq, (clause,), level, "planning") for seq, clause in zip(seqs, chosen, strict=True)
    ]
    worst = next((one.seq for one in labels if one.clauses[0].startswith("F")), None)
    return Content(tuple(labels), verdict or ("minor" if worst else "compliant"), worst, comment)


def claim(person: User, adjudicates: bool = False) -> Review:
    """Claim the next session of the queue for this person and return the review."""
    ClaimNext(person=person, command=uuid4(), adjudicates=adjudicates).execute()
    return Review.objects.get(reviewer=person, state=Review.State.OPEN, adjudicates=adjudicates)


def with_reasons(content: Content, review: Review, text: str = "By the codebook.") -> Content:
    """Return the content of an adjudication with a reason for each clause on which the reviews differ."""
    both = independent_contents(review.session, review.rule_set)
    return replace(
        content,
        messages=tuple(
            replace(
                one,
                reasons=tuple(ClauseReason(code, text) for code in sorted(differing_clauses(*both, one.seq))),
            )
            for one in content.messages
        ),
    )


def submit(review: Review, content: Content, command: UUID | None = None) -> Review:
    """Submit the review as its own reviewer; an adjudication gets the reasons that it needs."""
    assert review.reviewer is not None
    if review.adjudicates:
        content = with_reasons(content, review)
    action = Adjudicate if review.adjudicates else SubmitReview
    action(person=review.reviewer, command=command or uuid4(), review_id=review.pk, content=content).execute()
    review.refresh_from_db()
    return review


def review(person: User, *clauses: str, **content: Any) -> Review:
    """Claim the next session and submit a complete review of it."""
    claimed = claim(person)
    return submit(claimed, reading(claimed.session, *clauses, **content))
