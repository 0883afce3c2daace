"""Pages of replayed hints for researchers: receptivity of models, one replay, one card with its draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Case, Count, Q, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.plots import POINTS, ForestPlot, ForestRow
from benchmark.rendering import program_diff
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.reports.memory import SIDES
from benchmark.views.plots import PagePlots, simulated_mark
from tutoring.arms.figures.rows import LeftOut
from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun
from tutoring.replay.applicability import KINDS, missing_labels, with_label
from tutoring.replay.estimates import Fit
from tutoring.replay.figures import DIALOGUES
from tutoring.replay.text import notices, receptivity_text

for_researchers = requires_role(Role.RESEARCHER)

RUNS_LENGTH, CARDS_LENGTH, DRAWS_LENGTH = 25, 50, 20
"""Rows on a page."""


@require_GET
@for_researchers
def receptivity(request: HttpRequest) -> HttpResponse:
    """List the replays with gain, content gain and receptivity. Query: page."""
    page = Paginator(ReplayRun.objects.select_related("model"), RUNS_LENGTH).get_page(request.GET.get("page"))
    plots = PagePlots(request)
    measured = [run for run in page.object_list if run.figures]
    shown = [
        (title, plots.show(plot))
        for title, name in (("Gain", "gain"), ("Content gain", "content gain"))
        if (plot := _by_model(title, name, measured))
    ]
    context = {"page": page, "rows": [_row(run) for run in page.object_list], "plots": shown}
    return plots.render("tutoring/replays/receptivity.html", context)


@require_GET
@for_researchers
def replay(request: HttpRequest, replay_id: UUID) -> HttpResponse:
    """Show the figures of a replay and its placements.

    Query: fit, label (see `label_kind`), side (of the cutoff), dialogue (see `DIALOGUES`), page.
    """
    run = get_object_or_404(ReplayRun.objects.select_related("model"), pk=replay_id)
    placements = Placement.objects.filter(state__run=run).select_related(
        "card__event__session", "state__problem__dataset"
    )
    if fit := request.GET.get("fit", ""):
        placements = placements.filter(fit=fit)
    label = request.GET.get("label", "")
    if label in KINDS and (run.labels_fixed or label == "missing"):
        placements = with_label(placements, label)
    plots = PagePlots(request)
    figures: Mapping[str, Any] = run.figures or {}
    if (side := request.GET.get("side", "")) in SIDES and figures.get("cutoff"):
        placements = placements.filter(_on_side(side, figures["cutoff"]["date"]))
    if (held_by := request.GET.get("dialogue", "")) in DIALOGUES:
        by_itself = Q(card__event__session__model_spec=run.model_spec)
        placements = placements.filter(by_itself if held_by == DIALOGUES[0] else ~by_itself)
    context = {
        "run": run,
        "side": side,
        "held_by": held_by,
        "row": _row(run),
        "notices": notices(run),
        "fit": fit,
        "label": label,
        "missing_labels": None if run.labels_fixed else missing_labels(run),
        "fits": get_args(Fit),
        "page": Paginator(placements.prefetch_related("labels"), CARDS_LENGTH).get_page(
            request.GET.get("page")
        ),
        "query": query_without_page(request).urlencode(),
        "excluded": [
            LeftOut("", "sessions", number, reason, _left_out_address(run, reason))
            for reason, number in sorted(run.manifest["excluded"].items())
        ],
    }
    if figures:
        gains = [*figures["gains"], *filter(None, [figures["misfit_harm"]])]
        context |= {
            "gains": gains,
            "gains_plot": plots.show(_plot("gains", gains, simulated=_is_simulated(run))) if gains else None,
            "history": figures.get("history"),
            "kinds": figures["kinds"],
            "overlaps": figures["overlaps"],
            "uptake": _uptake_table(figures["uptake"]),
            "near_misses": figures["near_misses"].items(),
            "labels": _label_table(figures.get("labels")),
            "cutoff": _cutoff_table(figures.get("cutoff")),
            "dialogues": _group_rows(figures.get("dialogues") or ()),
        }
    return plots.render("tutoring/replays/replay.html", context)


def _left_out_address(run: ReplayRun, reason: str) -> str:
    """Return the address of the list of the sessions left out for this reason; blank for replays without the list."""
    if reason not in run.manifest.get("excluded_sessions", {}):
        return ""
    return f"{reverse('trajectories')}?{urlencode({'replay': run.pk, 'reason': reason})}"


@require_GET
@for_researchers
def hint_card(request: HttpRequest, card_id: int) -> HttpResponse:
    """Show a card, its placements and the draws at them, with their differences. Query: replay, arm, page."""
    card = get_object_or_404(
        HintCard.objects.select_related("event__session", "problem__dataset", "judgement"), pk=card_id
    )
    placements = list(card.placements.select_related("state__run").order_by("-state__run__fixed_at", "pk"))
    states = [one.state_id for one in placements]
    draws = ReplayDraw.objects.filter(Q(card=card, arm="hint") | ~Q(arm="hint"), state__in=states)
    shown = placements[:CARDS_LENGTH]
    counted = _rights(draws.filter(state__in=[one.state_id for one in shown]))
    if run := request.GET.get("replay", ""):
        draws = draws.filter(state__run=_uuid(run))
    if (arm := request.GET.get("arm", "")) in ReplayDraw.Arm.values:
        draws = draws.filter(arm=arm)
    order = Case(*(When(arm=name, then=place) for place, name in enumerate(ReplayDraw.Arm.values)))
    rows = draws.select_related("state__run", "card").defer("state__messages", "reasoning")
    rows = rows.order_by("-state__run__fixed_at", "state", order, "number")
    page = Paginator(rows, DRAWS_LENGTH).get_page(request.GET.get("page"))
    context = {
        "card": card,
        "placements": [
            (one, [(name, *counted.get((one.state_id, name), (0, 0))) for name in ReplayDraw.Arm.values])
            for one in shown
        ],
        "simulated": any(one.state.run.manifest["scripted_model"] for one in shown),
        "arm": arm,
        "arms": ReplayDraw.Arm.values,
        "replay": run,
        "page": page,
        "query": query_without_page(request).urlencode(),
        "draws": [(one, program_diff(one.state.program, one.program)) for one in page.object_list],
    }
    return render(request, "tutoring/replays/card.html", context)


def _rights(draws: QuerySet[ReplayDraw]) -> dict[tuple[int, str], tuple[int, int]]:
    """Return the numbers of correct and of judged draws by state and arm."""
    judged = draws.filter(right__isnull=False).order_by().values_list("state", "arm")
    counted = judged.annotate(won=Count("pk", filter=Q(right=True)), total=Count("pk"))
    return {(state, arm): (won, total) for state, arm, won, total in counted}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _row(run: ReplayRun) -> dict[str, Any]:
    figures: Mapping[str, Any] = run.figures or {}
    found = {one["name"]: one for one in figures.get("gains", ())}
    return {
        "run": run,
        "gain": found.get("gain"),
        "content": found.get("content gain"),
        "receptivity": receptivity_text(figures["receptivity"]) if figures.get("receptivity") else "",
        "scripted": _is_simulated(run),
    }


def _is_simulated(run: ReplayRun) -> bool:
    return bool(run.manifest["scripted_model"])


def _by_model(title: str, name: str, runs: Sequence[ReplayRun]) -> ForestPlot | None:
    """Return the plot of one gain of each run; None without any."""
    found = [
        (f"{run.model_spec}, {run.mode}{simulated_mark(_is_simulated(run))}", one)
        for run in runs
        for one in (run.figures or {})["gains"]
        if one["name"] == name
    ]
    if not found:
        return None
    return ForestPlot(
        name=f"{name.replace(' ', '-')}-by-model",
        title=f"{title} by model with 95 % intervals",
        estimates=[_forest_row(label, one) for label, one in found],
        scale=POINTS,
        axis="percentage points",
    )


def _plot(name: str, gains: Sequence[Mapping[str, Any]], *, simulated: bool) -> ForestPlot:
    return ForestPlot(
        name=name,
        title=f"Gains with 95 % intervals{simulated_mark(simulated)}",
        estimates=[_forest_row(f"{one['name']}: {one['first']} − {one['second']}", one) for one in gains],
        scale=POINTS,
        axis="first − second, percentage points",
    )


def _forest_row(label: str, one: Mapping[str, Any]) -> ForestRow:
    method = INTERVAL_NAMES[one["method"]] if one["method"] else ""
    return ForestRow(label, one["mean"], one["low"], one["high"], one["problems"], method)


def _on_side(side: str, cutoff: str) -> Q:
    """Return the filter of placements on problems on this side of the cutoff (see `side_of`)."""
    match side:
        case "before":
            return Q(state__problem__contest_date__lte=cutoff)
        case "after":
            return Q(state__problem__contest_date__gt=cutoff)
    return Q(state__problem__contest_date=None)


def _cutoff_table(cutoff: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the date of the cutoff, and the figures of each side; None without a cutoff."""
    if not cutoff:
        return None
    return {"date": cutoff["date"], "rows": _group_rows(cutoff["groups"])}


def _group_rows(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for group in groups:
        found = {one["name"]: one for one in group["gains"]}
        ratio = group["receptivity"]
        rows.append(
            {
                "side": group["side"],
                "gain": found.get("gain"),
                "content": found.get("content gain"),
                "receptivity": receptivity_text(ratio) if ratio else "",
                "problems": ratio["problems"] if ratio else 0,
            }
        )
    return rows


def _label_table(labels: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the kinds of labels, and for each signature class the number of placements of each kind."""
    if not labels:
        return None
    rows = [
        (fit, [(kind, labels["table"][fit][kind]) for kind in KINDS])
        for fit in get_args(Fit)
        if fit in labels["table"]
    ]
    return {"kinds": KINDS, "rows": rows, **labels}


def _uptake_table(uptake: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arms and, for each kind of uptake, the share of each arm."""
    arms = list(uptake)
    kinds = [*uptake[arms[0]]] if arms else []
    return {"arms": arms, "rows": [(kind, [(arm, uptake[arm][kind]) for arm in arms]) for kind in kinds]}
