"""Pages of detector scores: precision and recall, and the messages that each score counts."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.paging import query_without_page
from tutoring.models import Event, Session
from tutoring.models.payloads import MessageSent, ReplyFinished
from tutoring.review.detector_scores import MessageClause, detector_scores
from tutoring.rules import rule_set_versions
from tutoring.views.review_requests import (
    for_figure_readers,
    requested_page,
    requested_rule_set,
)

OUTCOMES = {
    "agreed": "found by both",
    "alone": "found by the detector only",
    "missed": "found by reviewers only",
}


@require_GET
@for_figure_readers
def scores(request: HttpRequest) -> HttpResponse:
    """Show precision and recall of every detector on every clause that it can report."""
    rules = requested_rule_set(request)
    found = detector_scores(rules)
    return render(
        request,
        "tutoring/review/detectors.html",
        {"rule_set": rules, "versions": rule_set_versions(), "scores": found},
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
    try:
        score = detector_scores(rules).score(detector, clause)
        counted: frozenset[MessageClause] = {
            "agreed": score.agreed, "alone": score.alone, "missed": score.missed
        }[outcome]  # fmt: skip
    except KeyError:
        raise BadRequest(
            f"There is no count of detector {detector!r}, clause {clause!r} and outcome {outcome!r}."
        ) from None
    page = requested_page(request, sorted(counted))
    shown = list(page.object_list)
    sessions = Session.objects.listed().in_bulk({one.session_id for one in shown})
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
            "page": page,
            "messages_found": [
                CountedMessage(sessions[one.session_id], one.seq, texts[one.session_id, one.seq])
                for one in shown
            ],
            "query": query_without_page(request),
        },
    )
