"""Pages of studies for researchers, and the commands of admins."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from functools import wraps
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET, require_POST

from accounts.paging import query_without_page
from accounts.pseudonyms import pseudonym
from accounts.roles import Role, requires_role
from benchmark.model_calls import Price, catalogue
from benchmark.providers import is_scripted, parse_model_spec
from benchmark.rendering import render_markdown
from benchmark.text.numbers import whole_number
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots
from tutoring.arms.methods import PREFIX
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import SETTLING, CloseStudy, RecordDeviation, StopStudy, TakeLook
from tutoring.studies.assignment import assign
from tutoring.studies.design import Design, DesignError, parse_design, parse_frozen
from tutoring.studies.estimation import too_few_problems
from tutoring.studies.export import export_study
from tutoring.studies.flow import ArmFlow, Flow
from tutoring.studies.methods_text import last_program_note
from tutoring.studies.power import STUDIES, PowerError, PowerInputs, simulate_power
from tutoring.studies.preregistration import corrections, preregistration, preregistration_markdown
from tutoring.studies.reading import read_study
from tutoring.studies.resolution import resolve
from tutoring.studies.runs import StartArms, arms_waiting_for_people, waiting_arms
from tutoring.studies.summary import summaries, tutor_loads
from tutoring.views.flow_diagram import FlowPlot, box_query
from tutoring.views.requests import command_id, person_of, text_field
from tutoring.views.review_requests import requested_page
from tutoring.views.study_plots import contrast_plot, rate_plot

for_researchers = requires_role(Role.RESEARCHER, Role.ADMIN)
"""Decorator of views that show studies."""

for_admins = requires_role(Role.ADMIN)
"""Decorator of views that change studies."""

MOST_PROBLEMS = 2_000
"""Problems of a simulated study: more would take the web server too long."""

MOST_BESIDE = 3
"""Arms whose flow fits beside the study's facts; a wider diagram has the whole width of the page."""

PASSAGES: dict[str, Q] = {
    "offered": Q(offered_at__isnull=False),
    "started": Q(opened_at__isnull=False) | Q(work_item__isnull=False),
    "ended": Q(state=Assignment.State.DONE),
    "replacement": Q(replaces__isnull=False),
}
"""The numbers of the flow that count passages, by the name in the address."""


def find_study(request: HttpRequest, study_id: int) -> Study:
    """Return the study. Raises Http404, or PermissionDenied for a tutor of the study before it has ended."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        raise Http404("There is no such study.")
    blinded = study.state in Study.UNFINISHED and not study.rehearsal
    if blinded and study.tutors.filter(pk=person_of(request).pk).exists():
        raise PermissionDenied(
            "You are a tutor of this study, so its arms are hidden from you until it is closed. Another admin manages "
            "it, or an operator with manage.py study."
        )
    return study


def find_frozen(request: HttpRequest, study_id: int) -> Study:
    """Return the frozen study. Raises like `find_study`, and Http404 for a draft."""
    study = find_study(request, study_id)
    if study.state == Study.State.DRAFT:
        raise Http404("This study is a draft. Freeze it first.")
    return study


def design_of(study: Study) -> Design:
    """Return the design of a study in any state. Raises DesignError for a draft with faults."""
    if study.state == Study.State.DRAFT:
        return parse_design(study.design)
    return parse_frozen(study.design).design


def is_simulated(arms: Iterable[Arm]) -> bool:
    """Return whether some arm has a scripted or simulated model."""
    return any(is_scripted(parse_model_spec(arm.model.spec)) for arm in arms)


@require_GET
@for_researchers
def study_list(request: HttpRequest) -> HttpResponse:
    """List all studies, the newest first."""
    page = requested_page(request, Study.objects.defer("design").order_by("-created_at", "-pk"))
    return render(
        request, "tutoring/studies/list.html", {"page": page, "summaries": summaries(list(page.object_list))}
    )


@require_GET
@for_researchers
def study(request: HttpRequest, study_id: int) -> HttpResponse:
    """Show a study: what prevents the freezing of a draft, else its flow, results, looks and deviations."""
    found = find_study(request, study_id)
    [summary] = summaries([found])
    context: dict[str, Any] = {"study": found, "summary": summary, "tab": "study"}
    if found.state == Study.State.DRAFT:
        return render(request, "tutoring/studies/draft.html", context | _draft(found))
    plots = PagePlots(request)
    return plots.render("tutoring/studies/study.html", context | _conduct(found, plots))


def _draft(found: Study) -> dict[str, Any]:
    try:
        frozen = resolve(parse_design(found.design)).frozen
        assign(frozen, seed="")  # whether each problem has enough tutors does not depend on the seed
    except DesignError as error:
        return {"faults": error.faults, "frozen": None}
    return {
        "faults": (),
        "frozen": frozen,
        "sessions": len(frozen.problems) * frozen.design.tutors_per_problem,
    }


def _conduct(found: Study, plots: PagePlots) -> dict[str, Any]:
    reading, frozen = read_study(found), parse_frozen(found.design)
    flow, figures = reading.flow, reading.figures
    arms = list(found.arms.select_related("model", "protocol", "run"))
    assignments = reverse("study_assignments", args=[found.pk])
    deviations = found.deviations.select_related("by").prefetch_related("assignments")
    rows = list(deviations)
    settled = {row.settles_id for row in rows}
    diagram = FlowPlot(
        name="flow",
        title=f"Flow of the study {found}",
        flow=flow,
        assignments_url=assignments,
        problems_url=f"{reverse('preregistration', args=[found.pk])}#problems",
    )
    contrasts, rates = (contrast_plot(figures), rate_plot(figures)) if figures else (None, None)
    return {
        "contrast_plot": plots.show(contrasts) if contrasts else None,
        "rate_plot": plots.show(rates) if rates else None,
        "frozen": frozen,
        "design": frozen.design,
        "corrections": corrections(frozen),
        "flow": flow,
        "diagram": plots.show(diagram),
        "flow_rows": flow_rows(flow),
        "wide_flow": len(flow.arms) > MOST_BESIDE,
        "figures": figures,
        "simulated": is_simulated(arms),
        "arms": arms,
        "waiting_arms": _waiting(found),
        "held_arms": arms_waiting_for_people(found),
        "arms_address": _arms_address(found, arms),
        "last_program": last_program_note(frozen.design),
        "loads": tutor_loads(found, arms),
        "looks": found.looks.select_related("by"),
        "deviations": rows,
        "reports": [row for row in rows if row.kind == Deviation.Kind.REPORT and row.pk not in settled],
        "kinds": [(kind, Deviation.Kind(kind).label) for kind in SETTLING],
        "offering": found.state in Study.OFFERING,
        "may_look": found.state == Study.State.RUNNING and frozen.design.stopping.rule != "fixed",
        "may_close": found.state in Study.UNFINISHED
        and not found.assignments.filter(state__in=Assignment.UNFINISHED, tutor__isnull=False).exists(),
    }


def _waiting(found: Study) -> list[tuple[Arm, int, Price | None]]:
    """Return the automatic arms whose runs can be started or resumed, with their chains and the price of a call."""
    if found.state not in Study.UNFINISHED:
        return []
    chains = dict(
        found.assignments.filter(state__in=Assignment.UNFINISHED, tutor=None)
        .order_by()
        .values_list("arm")
        .annotate(Count("pk"))
    )
    return [(arm, chains.get(arm.pk, 0), catalogue.known_price(arm.model)) for arm in waiting_arms(found)]


def _arms_address(found: Study, arms: list[Arm]) -> str:
    """Return the address of the figures of the study's control arms; blank while it runs, or without such a run."""
    runs = [str(arm.run_id) for arm in arms if arm.run_id and arm.method.startswith(PREFIX)]
    if found.state in Study.OFFERING or not runs:
        return ""
    query = {"people": f"study={found.name}@{found.version}", "run": runs}
    return f"{reverse('arms')}?{urlencode(query, doseq=True)}"


def flow_rows(flow: Flow) -> list[tuple[str, list[tuple[int, str]]]]:
    """Return the table of the flow: the name of each row, and each arm's number with the query behind it."""
    passages: list[tuple[str, str, Callable[[ArmFlow], int]]] = [
        ("assigned", "", lambda arm: arm.assigned),
        ("replacements", "&passage=replacement", lambda arm: arm.replacements),
        ("offered", "&passage=offered", lambda arm: arm.offered),
        ("started", "&passage=started", lambda arm: arm.started),
        ("ended", "&passage=ended", lambda arm: arm.completed),
    ]
    rows = [
        (name, [(count(arm), f"arm={arm.arm}{query}") for arm in flow.arms])
        for name, query, count in passages
    ]
    boxes = sorted({box for arm in flow.arms for box in arm.boxes}, key=_box_order)
    return rows + [
        (box.replace("_", " "), [(arm.boxes[box], box_query(arm.arm, box)) for arm in flow.arms])
        for box in boxes
    ]


def _box_order(box: str) -> tuple[int, str]:
    order = ("planned", "offered", "open", "expired")
    return (order.index(box), box) if box in order else (9 if box == "analysed" else 5, box)


@require_GET
@for_researchers
def study_design(request: HttpRequest, study_id: int) -> JsonResponse:
    """Send the design as JSON."""
    found = find_study(request, study_id)
    response = JsonResponse(found.design, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{found.name}-v{found.version}.json"'
    return response


@require_GET
@for_researchers
def study_assignments(request: HttpRequest, study_id: int) -> HttpResponse:
    """List the assignments behind a number of the study's page.

    Parameters: arm, box (of the flow), passage (a key of PASSAGES), tutor (primary key), id.
    """
    found = find_frozen(request, study_id)
    boxes = read_study(found).boxes
    arm, box, tutor = (request.GET.get(name, "") for name in ("arm", "box", "tutor"))
    passage, one = request.GET.get("passage", ""), request.GET.get("id", "")
    if passage and passage not in PASSAGES:
        raise BadRequest(f"The parameter 'passage' must be one of: {', '.join(PASSAGES)}.")
    if any(number and whole_number(number) is None for number in (tutor, one)):
        raise BadRequest("The parameters 'tutor' and 'id' must be numbers.")
    rows = found.assignments.order_by("pk").filter(PASSAGES.get(passage, Q()))
    rows = rows.filter(arm__name=arm) if arm else rows
    rows = rows.filter(pk=whole_number(one) or 0) if one else rows
    if tutor:
        rows = rows.filter(tutor=whole_number(tutor) or 0).exclude(state__in=Assignment.LEFT_OUT)
    chosen = [key for key in rows.values_list("pk", flat=True) if not box or boxes[key] == box]
    page = requested_page(request, chosen)
    shown = found.assignments.select_related("arm", "problem__dataset", "tutor").order_by("pk")
    listed = list(shown.filter(pk__in=page.object_list))
    context = {
        "study": found,
        "tab": "assignments",
        "page": page,
        "rows": [
            (row, boxes[row.pk].replace("_", " "), pseudonym(row.tutor) if row.tutor else "")
            for row in listed
        ],
        "query": query_without_page(request),
        "filters": [value.replace("_", " ") for value in (arm, box, passage) if value],
        "arms": found.arms.all(),
        "arm": arm,
        "box": box,
        "boxes": sorted({*boxes.values()}, key=_box_order),
    }
    return render(request, "tutoring/studies/assignments.html", context)


@require_GET
@for_researchers
def study_power(request: HttpRequest, study_id: int) -> HttpResponse:
    """Show the power of a design. The parameters are those of PowerInputs; rates are percentages."""
    found = find_study(request, study_id)
    context: dict[str, Any] = {"study": found, "tab": "power", "studies": STUDIES, "faults": ()}
    try:
        design = design_of(found)
        pairs = design.stopping.maximum or _eligible(found)
    except DesignError as error:
        return render(request, "tutoring/studies/power.html", context | {"faults": error.faults})
    typed = {"problems": str(pairs), "spread": "1", "compliance": "100"} | request.GET.dict()
    rule = design.stopping
    warning = too_few_problems(rule.rule, rule.threshold, pairs)
    context |= {"design": design, "typed": typed, "fault": "", "power": None, "warning": warning}
    if "effect" in request.GET:
        try:
            context["power"] = simulate_power(_power_inputs(design, typed))
            context["warning"] = context["power"].warning
        except PowerError as error:
            context["fault"] = str(error)
    return render(request, "tutoring/studies/power.html", context)


def _eligible(found: Study) -> int:
    if found.state == Study.State.DRAFT:
        return len(resolve(parse_design(found.design)).frozen.problems)
    return len(parse_frozen(found.design).problems)


_POWER_FIELDS = {
    "problems": "problems",
    "control_rate": "rate of the second arm",
    "effect": "difference",
    "spread": "spread",
    "compliance": "compliance",
}


def _power_inputs(design: Design, typed: dict[str, str]) -> PowerInputs:
    """Return the inputs as typed. Raises PowerError for a field that is not a number."""
    values = {}
    for name, words in _POWER_FIELDS.items():
        try:
            values[name] = float(typed.get(name, "").replace(",", "."))
        except ValueError:
            values[name] = nan
        if not isfinite(values[name]):
            raise PowerError(f"Type a number for the {words}.")
    minutes = typed.get("minutes", "").strip()
    if minutes and not minutes.replace(".", "", 1).isdecimal():
        raise PowerError("Type a number of minutes, or leave the field empty.")
    if not values["problems"].is_integer() or values["problems"] > MOST_PROBLEMS:
        raise PowerError(f"The number of problems must be a whole number, at most {MOST_PROBLEMS}.")
    return PowerInputs.of_design(
        design,
        problems=int(values["problems"]),
        control_rate=values["control_rate"] / 100,
        effect=values["effect"] / 100,
        spread=values["spread"],
        compliance=values["compliance"] / 100,
        minutes_per_session=float(minutes) if minutes else None,
    )


@require_GET
@for_researchers
def study_preregistration(request: HttpRequest, study_id: int) -> HttpResponse:
    """Show the preregistration of a frozen study."""
    found = find_frozen(request, study_id)
    frozen = parse_frozen(found.design)
    context = {
        "study": found,
        "tab": "preregistration",
        "text": mark_safe(render_markdown(_without_title(preregistration_markdown(found)))),  # noqa: S308
        "hash": preregistration(found)["sha256"],
        "problems": frozen.problems,
        "corrections": corrections(frozen),
    }
    return render(request, "tutoring/studies/preregistration.html", context)


def _without_title(text: str) -> str:
    """Return the Markdown without its first line: the page has a heading of its own."""
    return text.partition("\n")[2]


@require_GET
@for_researchers
def download_preregistration(request: HttpRequest, study_id: int, form: str) -> HttpResponse:
    """Send the preregistration as Markdown (form "md") or JSON (form "json")."""
    found = find_frozen(request, study_id)
    if form not in ("md", "json"):
        raise Http404("The preregistration is sent as md or json.")
    if form == "md":
        text, kind = preregistration_markdown(found), "text/markdown"
    else:
        text = json.dumps(preregistration(found), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        kind = "application/json"
    return file_download(
        text.encode(), f"{kind}; charset=utf-8", f"preregistration-{found.name}-v{found.version}.{form}"
    )


@require_GET
@for_researchers
def download_study(request: HttpRequest, study_id: int) -> HttpResponse:
    """Send the export of the study as a zip archive of one folder."""
    found = find_frozen(request, study_id)
    folder = f"study-{found.name}-v{found.version}"
    packed = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as place,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in export_study(found, Path(place) / folder):
            archive.write(path, f"{folder}/{path.name}")
    return file_download(packed.getvalue(), "application/zip", f"{folder}.zip")


StudyCommand = Callable[[HttpRequest, int], str]


def study_command(view: StudyCommand) -> Callable[..., HttpResponseBase]:
    """Turn a function that executes an action on a study into a POST view for admins.

    The function returns the sentence that the study's page shows; a refusal is shown there too.
    """

    @require_POST
    @for_admins
    @wraps(view)
    def respond(request: HttpRequest, study_id: int) -> HttpResponse:
        find_study(request, study_id)
        try:
            messages.success(request, view(request, study_id))
        except RefusedError as refused:
            messages.error(request, str(refused))
        except DesignError as error:
            for fault in error.faults:
                messages.error(request, fault)
        return redirect("study", study_id=study_id)

    return respond


@study_command
def take_look(request: HttpRequest, study_id: int) -> str:
    """Look at the results, which unlocks them."""
    look = TakeLook(person_of(request), study_id).execute()
    stopped = " The stopping rule ends the study." if look.decision == look.Decision.STOP else ""
    return f"The results of {look.counted} complete pairs are unlocked.{stopped}"


@study_command
def stop_study(request: HttpRequest, study_id: int) -> str:
    """Stop the study. Field: reason."""
    stopped = StopStudy(person_of(request), study_id, text_field(request, "reason")).execute()
    return f"{stopped} is stopped. Open sessions continue, and no more sessions are offered."


@study_command
def close_study(request: HttpRequest, study_id: int) -> str:
    """Close the study."""
    closed = CloseStudy(person_of(request), study_id).execute()
    return f"{closed} is closed. Its problems are open to free sessions again, and its seed is in the export."


@study_command
def start_arms(request: HttpRequest, study_id: int) -> str:
    """Start or resume the runs of the automatic arms. Field: cost, US dollars for each run; blank: no bound."""
    text = request.POST.get("cost", "").strip().replace(",", ".")
    try:
        cost = float(text) if text else None
    except ValueError:
        cost = nan
    if cost is not None and not 0 < cost < inf:
        raise RefusedError(
            "Type the most US dollars of each run as a number above 0, or leave the field empty."
        )
    runs = StartArms(person_of(request), study_id, cost).execute()
    return f"The workers execute {len(runs)} run{'s' if len(runs) > 1 else ''}. Their chains are in the flow."


@study_command
def record_deviation(request: HttpRequest, study_id: int) -> str:
    """Record a deviation, or settle a report.

    Fields: command, kind, reason; assignments (their numbers) or settles (the primary key of a report).
    """
    named = request.POST.get("assignments", "").replace(",", " ").split()
    rows = [number for one in named if (number := whole_number(one)) is not None]
    settled = request.POST.get("settles", "")
    settles = whole_number(settled)
    if len(rows) < len(named) or (settled and settles is None):
        raise BadRequest("Assignments and reports are named by their numbers.")
    RecordDeviation(
        person_of(request),
        study_id,
        request.POST.get("kind", ""),
        text_field(request, "reason"),
        rows,
        settles,
        command_id(request),
    ).execute()
    return "The deviation is recorded."
