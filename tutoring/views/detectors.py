"""Pages of detector scores: precision and recall, and the messages that each score counts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.paging import query_without_page
from tutoring.models import Event, Session
from tutoring.models.payloads import MessageSent, ReplyFinished
from tutoring.review.detector_scores import OUTCOMES, MessageClause
from tutoring.review.stored_figures import DETECTOR_SCORES, messages_name
from tutoring.rules import rule_set_versions
from tutoring.trajectories.trajectory import readable_sessions
from tutoring.views.requests import person_of
from tutoring.views.review_requests import (
    for_figure_readers,
    requested_page,
    requested_rule_set,
)


@require_GET
@for_figure_readers
def scores(request: HttpRequest) -> HttpResponse:
    """Show precision and recall of every detector on every clause that it can report."""
    rules = requested_rule_set(request)
    computed = DETECTOR_SCORES.current(rules)
    return render(
        request,
        "tutoring/review/detectors.html",
        {
            "rule_set": rules,
            "versions": rule_set_versions(),
            "computed": computed,
            "scores": computed.figures,
        },
    )


@dataclass(frozen=True)
class CountedMessage:
    """A message that a score counts."""

    session: Session
    seq: int
    text: str


@require_GET
@for_figure_readers
def messages(request: HttpRequest) -> HttpResponse:
    """List the messages that a score counts. Parameters: detector, clause and outcome (agreed, alone or missed)."""
    rules = requested_rule_set(request)
    detector, clause = request.GET.get("detector", ""), request.GET.get("clause", "")
    outcome = request.GET.get("outcome", "")
    computed = DETECTOR_SCORES.document(rules, messages_name(detector, clause))
    if computed is None or outcome not in OUTCOMES:
        raise BadRequest(
            f"There is no count of detector {detector!r}, clause {clause!r} and outcome {outcome!r}."
        )
    page = requested_page(request, computed.figures[outcome])
    shown = [MessageClause(UUID(session), seq, clause) for session, seq in page.object_list]
    sessions = readable_sessions(person_of(request)).listed().in_bulk({one.session_id for one in shown})
    events = Event.objects.filter(session__in=sessions, seq__in={one.seq for one in shown})
    texts = {
        (event.session_id, event.seq): event.payload.text
        for event in events
        if isinstance(event.payload, MessageSent | ReplyFinished)
    }
    return render(
        request,
        "tutoring/review/detector_messages.html",
        {
            "rule_set": rules,
            "detector": detector,
            "clause": rules.clause(clause),
            "outcome": OUTCOMES[outcome],
            "computed": computed,
            "page": page,
            "messages_found": [
                CountedMessage(sessions[one.session_id], one.seq, texts[one.session_id, one.seq])
                for one in shown
                # The session may not be readable, or have been erased since the computation of the figures.
                if (one.session_id, one.seq) in texts
            ],
            "query": query_without_page(request),
        },
    )
