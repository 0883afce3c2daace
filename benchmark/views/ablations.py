"""Curves over one setting: runs that are the same but for p (problems retrieved) or i (reflections).

A run with reflections holds every smaller i itself.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from benchmark.models import Dataset, Run
from benchmark.reports import RunFigures
from benchmark.reports.cached_report import kept_list
from benchmark.reports.formatting import label
from benchmark.reports.published_tables import published_tables
from benchmark.views.access import for_researchers
from benchmark.views.charts import Curve, Point, curve_svg, mark_svg

AXES = {"p": "problems retrieved (p)", "i": "reflections (i)"}
"""The settings that the papers vary, and what they are."""

MEASURED = 200
"""Finished runs of a dataset that are looked at, the latest first."""


@dataclass(frozen=True)
class Ablation:
    """All curves over one setting, as a picture and as rows."""

    axis: str
    title: str
    svg: SafeString
    rows: tuple[tuple[SafeString, Curve], ...]


@require_safe
@for_researchers
def ablations(request: HttpRequest) -> HttpResponse:
    """Filter: dataset (its name); by default the one with the latest run."""
    datasets = list(Dataset.objects.filter(runs__state=Run.State.FINISHED).distinct().order_by("name"))
    latest = Run.objects.filter(state=Run.State.FINISHED).select_related("dataset").first()
    chosen = request.GET.get("dataset") or (latest.dataset.name if latest else "")
    runs = list(
        Run.objects.filter(dataset__name=chosen, state=Run.State.FINISHED)
        .select_related("dataset", "kept")
        .order_by("-started_at")[:MEASURED]
    )
    return render(
        request,
        "benchmark/runs/ablations.html",
        {"dataset": chosen, "datasets": datasets, "ablations": list(_ablations(runs)), "axes": AXES},
    )


def _ablations(runs: Sequence[Run]) -> Iterator[Ablation]:
    measured = list(zip(runs, kept_list(runs), strict=True))
    for axis, title in AXES.items():
        own = [*_curves(axis, measured), *(_within_runs(measured) if axis == "i" else ())]
        if own:
            curves = [*own, *_published(axis, {run.dataset.format for run in runs})]
            # Everything in it is escaped where it is made.
            svg = mark_safe(curve_svg(curves, title, "pass@1 in percent"))  # noqa: S308
            marks = [mark_safe(mark_svg(number)) for number in range(len(curves))]  # noqa: S308
            yield Ablation(axis, title, svg, tuple(zip(marks, curves, strict=True)))


def _curves(axis: str, measured: Sequence[tuple[Run, RunFigures]]) -> Iterator[Curve]:
    """The runs that differ in nothing but the axis; of several with the same value the latest."""
    families: dict[str, dict[int, tuple[Run, RunFigures]]] = defaultdict(dict)
    for run, figures in measured:
        if axis not in run.parameters:
            continue
        rest = {name: value for name, value in run.parameters.items() if name != axis}
        same = (run.method, run.model_spec, run.attempts, figures.groups[0].problems, rest)
        families[json.dumps(same, sort_keys=True)].setdefault(int(run.parameters[axis]), (run, figures))
    for family in families.values():
        if len(family) > 1:
            run = next(iter(family.values()))[0]
            yield Curve(label(run, without=axis), tuple(_points(family)))


def _points(family: dict[int, tuple[Run, RunFigures]]) -> Iterator[Point]:
    for x, (run, figures) in sorted(family.items()):
        found = figures.headline
        if found and found.value is not None and found.low is not None and found.high is not None:
            yield Point(x, 100 * found.value, 100 * found.low, 100 * found.high, str(run.pk))


def _within_runs(measured: Sequence[tuple[Run, RunFigures]]) -> Iterator[Curve]:
    """The latest run of each kind by itself: the scores after 0 … i reflections, as far as their answers are judged."""
    seen = set()
    for run, figures in measured:
        points = tuple(
            Point(one.i, 100 * one.value, 100 * one.low, 100 * one.high, str(run.pk))
            for one in figures.after
            if one.value is not None and one.low is not None and one.high is not None
        )
        kind = json.dumps((run.method, run.model_spec, run.attempts, run.parameters), sort_keys=True)
        if len(points) > 1 and kind not in seen:
            seen.add(kind)
            yield Curve(f"{label(run, without='i')}, within one run", points)


def _published(axis: str, formats: set[str]) -> Iterator[Curve]:
    """The tables of the papers that vary this setting alone."""
    for table in published_tables().values():
        values = {
            int(row.settings[axis]): row.values[0] for row in table.rows if row.settings.keys() == {axis}
        }
        if len(values) > 1 and table.benchmark in formats:
            points = tuple(Point(x, float(value)) for x, value in sorted(values.items()))
            yield Curve(f"{table.name}, {table.title} ({table.source})", points)
