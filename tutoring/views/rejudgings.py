"""Pages of rejudgings for researchers, and the commands of admins."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role, requires_role
from benchmark.judging import (
    RejudgingError,
    apply_rejudging,
    changes_of,
    discard_rejudging,
    enqueue_rejudging,
    estimate,
    living_workers,
    progress_of,
    refusal_to_apply,
    request_rejudging,
)
from benchmark.models import Dataset, Problem, Rejudging, Run
from benchmark.text.numbers import whole_number
from tutoring.models import Session, Study
from tutoring.rejudging.comparison import changed_programs, compare_verdicts
from tutoring.rejudging.selection import Selection, select_programs
from tutoring.rejudging.wording import (
    change_texts,
    duration,
    program_document,
    transition_text,
    unchanged_text,
)
from tutoring.views.requests import person_of, text_field
from tutoring.views.review_requests import requested_page

for_researchers = requires_role(Role.RESEARCHER, Role.ADMIN)
for_admins = requires_role(Role.ADMIN)

_MOST_PLACES = 50
"""Sessions that the page of a rejudging lists."""

FIELDS = ("problem", "dataset", "run", "study", "session")
"""The fields of the selection. Several values are separated by spaces or commas."""


@require_GET
@for_researchers
def rejudgings(request: HttpRequest) -> HttpResponse:
    """List the rejudgings. For a selection in the address (FIELDS), also show how many programs it contains."""
    asked = {name: request.GET.get(name, "").strip() for name in FIELDS}
    context: dict[str, Any] = {
        "page": requested_page(request, Rejudging.objects.select_related("requested_by")),
        "asked": asked,
        "refusal": "",
        "selected": None,
        "datasets": Dataset.objects.filter(known_as=""),
        "studies": [
            (f"{study.name}@{study.version}", study)
            for study in Study.objects.exclude(state=Study.State.DRAFT).order_by("name", "-version")
        ],
    }
    context["rows"] = [(row, progress_of(row)) for row in context["page"].object_list]
    if any(asked.values()):
        context |= _plan(request.GET)
    return render(request, "tutoring/rejudgings/list.html", context)


def _plan(query: QueryDict) -> dict[str, Any]:
    """Return what the page shows of a selection: its programs and the expected time, or why it is not valid."""
    try:
        selected = select_programs(_selection(query))
    except RejudgingError as error:
        return {"refusal": str(error)}
    work = estimate(selected.places)
    changes = changes_of(selected.places)
    return {
        "selected": selected,
        "work": work,
        "duration": duration(work.seconds, living_workers()),
        "changes": [(one["problem"], texts) for one in changes if (texts := change_texts(one))],
        "unchanged": unchanged_text(changes),
    }


def _selection(query: QueryDict) -> Selection:
    """Return the selection that the fields name. Raises RejudgingError for a name that does not exist."""
    names = {name: query.get(name, "").replace(",", " ").split() for name in FIELDS}
    return Selection(
        problems=tuple(_problem(name) for name in names["problem"]),
        datasets=tuple(_dataset(name) for name in names["dataset"]),
        runs=tuple(_by_id(Run, name, "run") for name in names["run"]),
        studies=tuple(_study(name) for name in names["study"]),
        sessions=tuple(_by_id(Session, name, "session") for name in names["session"]),
    )


def _problem(name: str) -> Problem:
    dataset, _, external_id = name.partition("/")
    found = Problem.objects.select_related("dataset").filter(dataset__name=dataset, external_id=external_id)
    if problem := found.first():
        return problem
    raise RejudgingError(f"There is no problem {name}. Write DATASET/ID.")


def _dataset(name: str) -> Dataset:
    if dataset := Dataset.objects.filter(name=name).first():
        return dataset
    raise RejudgingError(f"There is no dataset {name}.")


def _study(name: str) -> Study:
    title, _, version = name.partition("@")
    rows = Study.objects.filter(name=title, version=whole_number(version) or 0)
    if study := rows.first():
        return study
    raise RejudgingError(f"There is no study {name}. Write NAME@VERSION.")


def _by_id(table: type[Any], name: str, kind: str) -> Any:
    try:
        row = table.objects.filter(pk=UUID(name)).first()
    except ValueError:
        row = None
    if row is None:
        raise RejudgingError(f"There is no {kind} {name}.")
    return row


@require_GET
@for_researchers
def rejudging(request: HttpRequest, rejudging_id: int) -> HttpResponse:
    """Compare the former and the new verdicts of a rejudging."""
    found = get_object_or_404(Rejudging.objects.select_related("requested_by", "decided_by"), pk=rejudging_id)
    person = person_of(request)
    comparison = compare_verdicts(found, person)
    programs = requested_page(request, changed_programs(found, person))
    changed_sessions = [one for one in comparison.sessions if one.changed or one.others]
    return render(
        request,
        "tutoring/rejudgings/rejudging.html",
        {
            "rejudging": found,
            "progress": progress_of(found),
            "comparison": comparison,
            "summary": transition_text(comparison.transitions),
            "sessions": changed_sessions[:_MOST_PLACES],
            "changed_sessions": len(changed_sessions),
            "changes": [(one, texts) for one in found.changes if (texts := change_texts(one))],
            "unchanged": unchanged_text(found.changes),
            "selection": [(name, ", ".join(names)) for name, names in found.selection.items() if names],
            "page": programs,
            "programs": [program_document(row) for row in programs.object_list],
            "refusal": refusal_to_apply(found) if found.state == Rejudging.State.OPEN else "",
        },
    )


@require_POST
@for_admins
def start_rejudging(request: HttpRequest) -> HttpResponse:
    """Begin a rejudging of the selection in the form; the workers judge its programs."""
    try:
        selection = _selection(request.POST)
        selected = select_programs(selection)
        begun = request_rejudging(
            selected.places,
            reason=text_field(request, "reason"),
            selection=selection.to_json(),
            by=person_of(request),
        )
    except RejudgingError as error:
        messages.error(request, str(error))
        return redirect("rejudgings")
    enqueue_rejudging(begun)
    messages.success(
        request, f"Rejudging {begun.pk} has begun. The former verdicts count until it is applied."
    )
    return redirect("rejudging", begun.pk)


@require_POST
@for_admins
def decide_rejudging(request: HttpRequest, rejudging_id: int) -> HttpResponse:
    """Apply or discard a rejudging, as the field `decision` says."""
    decisions = {"apply": apply_rejudging, "discard": discard_rejudging}
    decision = request.POST.get("decision", "")
    if not Rejudging.objects.filter(pk=rejudging_id).exists():
        raise Http404(f"There is no rejudging {rejudging_id}.")
    if decision not in decisions:
        raise BadRequest("The field 'decision' must be apply or discard.")
    try:
        decided = decisions[decision](rejudging_id, person_of(request))
    except RejudgingError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Rejudging {decided.pk}: {decided.get_state_display()}.")
    return redirect("rejudging", rejudging_id)
