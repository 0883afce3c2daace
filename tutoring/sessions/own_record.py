"""A session as its tutor may export it: what the page of the session shows, and nothing that the page hides."""

from __future__ import annotations

from typing import Any

from tutoring.models import Session
from tutoring.protocols import rules_of_session
from tutoring.sessions.conversation import SHOWN_TO_TUTORS, event_view, status_for_tutor

SCHEMA = "hintbench-own-session/1"

RECORDED = ("events",)
"""What to prefetch where many sessions are written."""


def own_record(session: Session, concealed: bool) -> dict[str, Any]:
    """Return the session as plain JSON values. Of a concealed session of a study, the protocol stays unnamed."""
    rules, status = rules_of_session(session), status_for_tutor(session)
    shown = [event for event in session.events.all() if event.kind in SHOWN_TO_TUTORS]
    events = []
    for number, event in enumerate(shown, start=1):
        view = event_view(number, event, rules)
        fields = {name: value for name, value in view.fields.items() if name != "html"}
        at = view.at.isoformat(timespec="minutes") if view.at else None
        events.append({"seq": view.seq, "kind": view.kind, "at": at, **fields})
    return {
        "kind": "session",
        "schema": SCHEMA,
        "id": str(session.pk),
        "problem": str(session.problem),
        "title": session.problem.title if session.problem else None,
        "protocol": None if concealed else str(session.protocol),
        "number": session.number,
        "state": status.state,
        "outcome": status.outcome or None,
        "invalidated": status.invalidated,
        "opened_at": session.opened_at.isoformat() if session.opened_at else None,
        "closed_at": session.closed_at.isoformat() if session.closed_at else None,
        "events": events,
    }
