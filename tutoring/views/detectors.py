"""What the detectors are worth, as reviewers see it: a page of scores, and the messages behind each count."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from tutoring.models import Event, Session
from tutoring.review.detector_scores import Place, detector_scores
from tutoring.rules import rule_set_versions
from tutoring.views.review_figures import requested_rule_set, readers
from tutoring.views.sessions import PAGE

OUTCOMES = {
    "agreed": "found by both",
    "alone": "found by the detector alone",
    "missed": "found by reviewers alone",
}


@require_GET
@readers
def scores(request: HttpRequest) -> HttpResponse:
    """Precision and recall of every detector on every clause that it can name."""
    rules = requested_rule_set(request)
    found = detector_scores(rules)
    return render(
        request,
        "tutoring/review/detectors.html",
        {"rule_set": rules, "versions": rule_set_versions(), "scores": found},
    )


@dataclass(frozen=True)
class FoundMessage:
    """A message behind a count."""

    session: Session
    seq: int
    text: str


@require_GET
@readers
def behind(request: HttpRequest) -> HttpResponse:
    """The messages behind a count. The address holds detector, clause and outcome (agreed, alone or missed)."""
    rules = requested_rule_set(request)
    detector, clause = request.GET.get("detector", ""), request.GET.get("clause", "")
    outcome = request.GET.get("outcome", "")
    try:
        score = detector_scores(rules).score(detector, clause)
        places: frozenset[Place] = {"agreed": score.agreed, "alone": score.alone, "missed": score.missed}[
            outcome
        ]
    except KeyError:
        raise BadRequest("There is no such count.") from None
    page = Paginator(sorted(places), PAGE).get_page(request.GET.get("page"))
    wanted = list(page.object_list)
    sessions = Session.objects.listed().in_bulk({place.session_id for place in wanted})
    events = Event.objects.filter(session__in=sessions, seq__in={place.seq for place in wanted})
    texts = {
        (session_id, seq): data.get("text", "")
        for session_id, seq, data in events.values_list("session_id", "seq", "data")
    }
    query = request.GET.copy()
    query.pop("page", None)
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
                FoundMessage(sessions[place.session_id], place.seq, texts[place.session_id, place.seq])
                for place in wanted
            ],
            "query": query,
        },
    )
