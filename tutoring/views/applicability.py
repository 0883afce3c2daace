"""The reviewers' queue of hints to label. Its page shows hint and program, but no model, no arm and no outcome."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET

from benchmark.rendering import highlight
from benchmark.text.numbers import whole_number
from tutoring.models import ApplicabilityLabel, Placement, ReplayRun
from tutoring.replay.applicability import LabelApplicability, next_to_label
from tutoring.views.requests import command_id, person_of
from tutoring.views.review_requests import for_reviewers, requested_page
from tutoring.views.reviews import REVIEWING, command

QUESTIONS = (
    ("yes", "Everything that the message says about the program is true of this program."),
    ("partly", "Some of it is true of this program, and some is not."),
    ("no", "Nothing of it is true of this program, or it is about another fault."),
)
"""The values of a label with their definitions."""


@require_GET
@for_reviewers
def applicability_queue(request: HttpRequest) -> HttpResponse:
    """Show the next hint to label, and the person's own labels. Query: placement (a labelled one to change), page."""
    person = person_of(request)
    own = ApplicabilityLabel.objects.filter(reviewer=person).order_by("-labelled_at", "-pk")
    following, waiting = next_to_label(person)
    label = _requested_label(request, own)
    placement = label.placement if label else following
    context: dict[str, Any] = {
        "waiting": waiting,
        "label": label,
        "placement": placement,
        "questions": QUESTIONS,
        "own": requested_page(
            request, own.select_related("placement__card__problem", "placement__state__run")
        ),
        "query": "",
    }
    if placement is not None:
        context["problem"] = placement.card.problem
        # Pygments escapes the program.
        context["program"] = mark_safe(highlight(placement.state.program, placement.state.language))  # noqa: S308
    return render(request, "tutoring/review/applicability.html", context)


def _requested_label(request: HttpRequest, own: QuerySet[ApplicabilityLabel]) -> ApplicabilityLabel | None:
    """Return the person's label that can still be changed and is requested; None if none is. Raises Http404."""
    wanted = request.GET.get("placement", "")
    if not wanted:
        return None
    changeable = own.filter(placement__state__run__state=ReplayRun.State.FIXED)
    found = changeable.filter(placement=whole_number(wanted)).first()
    if found is None:
        raise Http404("You have no label on this hint that can be changed.")
    return found


@command(*REVIEWING, page="applicability_queue")
def label_applicability(request: HttpRequest, placement_id: int) -> str:
    """Store or change a label. Fields: command, value (yes, partly or no)."""
    get_object_or_404(Placement, pk=placement_id)
    LabelApplicability(
        person=person_of(request),
        command=command_id(request),
        placement_id=placement_id,
        value=request.POST.get("value", ""),
    ).execute()
    messages.success(request, "Your label is saved.")
    return reverse("applicability_queue")
