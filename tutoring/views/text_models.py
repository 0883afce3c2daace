"""Pages for admins: trainings of the text model of the draft check, their figures, and the decision on each."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.models import TextModelTraining
from tutoring.review.text_model_decisions import (
    DecideTextModel,
    UseShippedTextModel,
    chosen_version,
    figure_rows,
)
from tutoring.review.text_model_requests import RequestTextModelTraining, material_of_site
from tutoring.rules.detectors.text_model import FIRST_OWN_VERSION, current_model
from tutoring.views.requests import command_id, person_of
from tutoring.views.review_requests import requested_page
from tutoring.views.reviews import command

for_admins = requires_role(Role.ADMIN)


@require_GET
@for_admins
def trainings(request: HttpRequest) -> HttpResponse:
    """Show the model in use, what the site has to train on, and the trainings."""
    rows = TextModelTraining.objects.defer("model").select_related("requested_by")
    return render(
        request,
        "tutoring/review/text_models.html",
        {
            "page": requested_page(request, rows),
            "material": material_of_site(),
            "unfinished": rows.filter(state__in=TextModelTraining.UNFINISHED).first(),
            **_versions(),
        },
    )


@require_GET
@for_admins
def training(request: HttpRequest, training_id: int) -> HttpResponse:
    """Show the progress of a training, or its figures beside those of the former model."""
    rows = TextModelTraining.objects.defer("model").select_related("requested_by", "decided_by")
    found = get_object_or_404(rows, pk=training_id)
    figures = figure_rows(found.figures) if found.figures else []
    versions = _versions()
    states = TextModelTraining.State
    usable = found.state in (states.DONE, states.USED) and found.version != versions["chosen"]
    return render(
        request,
        "tutoring/review/text_model_training.html",
        {"training": found, "rows": figures, "usable": usable, **versions},
    )


def _versions() -> dict[str, int | bool]:
    chosen = chosen_version()
    return {"used": current_model().version, "chosen": chosen, "own": chosen >= FIRST_OWN_VERSION}


@command(Role.ADMIN, page="text_models")
def start(request: HttpRequest) -> str:
    """Request a training."""
    RequestTextModelTraining(person=person_of(request), command=command_id(request)).execute()
    messages.success(request, "The training is requested. The former model stays in use.")
    return "text_models"


@command(Role.ADMIN, page="text_models")
def decide(request: HttpRequest, training_id: int) -> str:
    """Use or discard the model of a training, as the field `decision` says."""
    decision = request.POST.get("decision", "")
    if decision not in ("use", "discard"):
        raise BadRequest("The field 'decision' must be use or discard.")
    DecideTextModel(
        person=person_of(request),
        command=command_id(request),
        training_id=training_id,
        use=decision == "use",
    ).execute()
    return reverse("text_model_training", args=[training_id])


@command(Role.ADMIN, page="text_models")
def use_shipped(request: HttpRequest) -> str:
    """Use the shipped model again."""
    UseShippedTextModel(person=person_of(request), command=command_id(request)).execute()
    return "text_models"
