"""The page on which admins design a study, and the commands that save, freeze and amend it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role
from benchmark.methods import METHODS
from benchmark.models import Dataset, LanguageModel
from benchmark.models.problems import Tier
from benchmark.text.numbers import whole_number
from tutoring.arms.methods import PREFIX
from tutoring.models import Protocol, Study
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import AmendStudy, FreezeStudy, SaveDesign
from tutoring.studies.design import OUTCOMES, DesignError, design_faults, parse_design, parse_frozen
from tutoring.views.requests import person_of, text_field
from tutoring.views.studies import find_study, for_admins, study_command
from tutoring.views.study_form import DesignFields, design_values, faults_by_form_field


def _page(
    request: HttpRequest,
    values: dict[str, Any],
    faults: dict[str, list[str]],
    *,
    study: Study | None,
    amends: bool = False,
    general: tuple[str, ...] = (),
) -> HttpResponse:
    protocols = Protocol.objects.order_by("name", "-version").values_list("name", "version")
    models = LanguageModel.objects.filter(active=True).order_by("label", "-version")
    tutors = User.objects.filter(groups__name__in=[Role.TUTOR, Role.ADMIN], is_active=True)
    context = {
        "study": study,
        "tab": "design",
        "amends": amends,
        "reason": request.POST.get("reason", ""),
        "fields": DesignFields(values, faults),
        "general": general,
        "datasets": Dataset.objects.order_by("name").values_list("name", flat=True),
        "tiers": Tier.choices,
        "protocols": [f"{name}@{version}" for name, version in protocols],
        "models": [(f"{row.label}@{row.version}", row.spec) for row in models],
        "methods": sorted(METHODS, key=lambda name: (not name.startswith(PREFIX), name)),
        "people": tutors.distinct().order_by("username"),
        "outcomes": OUTCOMES,
    }
    return render(request, "tutoring/studies/design.html", context)


@require_GET
@for_admins
def new_study(request: HttpRequest) -> HttpResponse:
    """Show the empty form of a design."""
    return _page(request, {}, defaultdict(list), study=None)


@require_GET
@for_admins
def edit_study(request: HttpRequest, study_id: int) -> HttpResponse:
    """Show the form of a draft with the faults of its fields, or the form that amends a frozen study."""
    found = find_study(request, study_id)
    if found.state == Study.State.DRAFT:
        return _page(request, found.design, faults_by_form_field(design_faults(found.design)), study=found)
    values = parse_frozen(found.design).design.to_json()
    values["tutors"] = list(found.tutors.order_by("username").values_list("username", flat=True))
    return _page(request, values, defaultdict(list), study=found, amends=True)


@require_POST
@for_admins
def save_study(request: HttpRequest) -> HttpResponse:
    """Save a draft. Fields: those of the form; study, the primary key of the draft that is changed."""
    values = design_values(request.POST)
    study_id = whole_number(request.POST.get("study", ""))
    former = find_study(request, study_id) if study_id is not None else None
    try:
        saved = SaveDesign(person_of(request), values, study_id).execute()
    except DesignError as error:
        faults = faults_by_form_field(design_faults(values))
        return _page(request, values, faults, study=former, general=error.faults)
    if design_faults(values):
        messages.warning(
            request, "The draft is saved. It has faults, which the form shows beside their fields."
        )
        return redirect("edit_study", study_id=saved.pk)
    messages.success(request, "The draft is saved.")
    return redirect("study", study_id=saved.pk)


@study_command
def freeze_study(request: HttpRequest, study_id: int) -> str:
    """Freeze a draft. Fields: confirm, which must be checked; accept_gate, to accept the findings of the gate."""
    found = find_study(request, study_id)
    if found.state != Study.State.DRAFT:
        return f"{found} is {found.state} already."
    if "confirm" not in request.POST:
        raise RefusedError("Confirm that the design is final.")
    design = parse_design(found.design)
    frozen = FreezeStudy(person_of(request), design, "accept_gate" in request.POST).execute()
    stored = frozen.assignments.count()
    return f"{frozen} is frozen: {stored} assignments are stored. The design does not change any more."


@require_POST
@for_admins
def amend_study(request: HttpRequest, study_id: int) -> HttpResponse:
    """Replace a study by a new version. Fields: those of the form; reason; accept_gate."""
    found = find_study(request, study_id)
    values = design_values(request.POST) | {"name": found.name}
    faults = faults_by_form_field(design_faults(values))
    try:
        design = parse_design(values)
        accept = "accept_gate" in request.POST
        new = AmendStudy(
            person_of(request), study_id, design, text_field(request, "reason"), accept
        ).execute()
    except DesignError as error:
        return _page(request, values, faults, study=found, amends=True, general=error.faults)
    except RefusedError as refused:
        return _page(request, values, faults, study=found, amends=True, general=(str(refused),))
    messages.success(request, f"{new} is frozen, and {found} is stopped.")
    return redirect("study", study_id=new.pk)
