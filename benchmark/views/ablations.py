"""Ablations: curves over p (problems retrieved) or i (reflections) of runs that are otherwise equal.

A run with i reflections also gives the scores after fewer reflections.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Dataset, Run
from benchmark.plots import Curve, CurvePlot, CurvePoint, mark_svg
from benchmark.reports import RunFigures
from benchmark.reports.cached_report import cached_reports
from benchmark.reports.formatting import label
from benchmark.reports.published_tables import published_tables
from benchmark.views.plots import PagePlots, ShownPlot
from benchmark.views.run_plots import reflection_points

AXES = {"p": "problems retrieved (p)", "i": "reflections (i)"}
"""The settings that the papers vary, with their titles."""

MEASURED = 200
"""Finished runs of a dataset that are read at most, the latest first."""


@dataclass(frozen=True)
class Ablation:
    """The curves over one setting, as a plot and as table rows of a mark and a curve."""

    axis: str
    title: str
    plot: ShownPlot
    rows: tuple[tuple[SafeString, Curve], ...]


@require_safe
@requires_role(Role.RESEARCHER)
def ablations(request: HttpRequest) -> HttpResponse:
    """Show the curves of one dataset. Query: dataset (a name; default: that of the latest finished run)."""
    datasets = list(Dataset.objects.filter(runs__state=Run.State.FINISHED).distinct().order_by("name"))
    latest = Run.objects.filter(state=Run.State.FINISHED).select_related("dataset").first()
    chosen = request.GET.get("dataset") or (latest.dataset.name if latest else "")
    runs = list(
        Run.objects.filter(dataset__name=chosen, state=Run.State.FINISHED)
        .select_related("dataset", "cached_report")
        .order_by("-started_at")[:MEASURED]
    )
    reports = zip(runs, cached_reports(runs), strict=True)
    measured = [(run, figures) for run, figures in reports if figures is not None]
    plots = PagePlots(request)
    return plots.render(
        "benchmark/runs/ablations.html",
        {
            "dataset": chosen,
            "datasets": datasets,
            "ablations": [_shown(axis, curves, plots) for axis, curves in _ablations(measured)],
            "waiting": len(runs) - len(measured),
        },
    )


def _ablations(measured: Sequence[tuple[Run, RunFigures]]) -> Iterator[tuple[str, list[Curve]]]:
    """Yield each setting that has curves, with them."""
    for axis in AXES:
        own = [*_curves(axis, measured), *(_within_runs(measured) if axis == "i" else ())]
        if own:
            yield axis, [*own, *_published(axis, {run.dataset.format for run, _ in measured})]


def _shown(axis: str, curves: Sequence[Curve], plots: PagePlots) -> Ablation:
    title = AXES[axis]
    plot = CurvePlot(
        name=f"pass-at-1-by-{axis}",
        title=f"pass@1 by {title}",
        curves=curves,
        x_name=title,
        y_name="pass@1 in percent",
    )
    marks = [mark_safe(mark_svg(number)) for number in range(len(curves))]  # noqa: S308  numbers only
    return Ablation(axis, title, plots.show(plot), tuple(zip(marks, curves, strict=True)))


def _curves(axis: str, measured: Sequence[tuple[Run, RunFigures]]) -> Iterator[Curve]:
    """Yield a curve for each family of runs that differ only in the axis: for each value the latest run."""
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


def _points(family: dict[int, tuple[Run, RunFigures]]) -> Iterator[CurvePoint]:
    for x, (run, figures) in sorted(family.items()):
        found = figures.headline
        if found and found.value is not None and found.low is not None and found.high is not None:
            shares = (100 * found.value, 100 * found.low, 100 * found.high)
            yield CurvePoint(x, *shares, figures.groups[0].problems, str(run.pk))


def _within_runs(measured: Sequence[tuple[Run, RunFigures]]) -> Iterator[Curve]:
    """Yield the scores after 0 … i reflections of the latest run of each kind, without those that lack judgements."""
    seen = set()
    for run, figures in measured:
        points = reflection_points(figures, str(run.pk))
        kind = json.dumps((run.method, run.model_spec, run.attempts, run.parameters), sort_keys=True)
        if len(points) > 1 and kind not in seen:
            seen.add(kind)
            yield Curve(f"{label(run, without='i')}, within one run", points)


def _published(axis: str, formats: set[str]) -> Iterator[Curve]:
    """Yield a curve for each published table that varies only this setting."""
    for table in published_tables().values():
        values = {
            int(row.settings[axis]): row.values[0] for row in table.rows if row.settings.keys() == {axis}
        }
        if len(values) > 1 and table.benchmark in formats:
            points = tuple(CurvePoint(x, float(value)) for x, value in sorted(values.items()))
            yield Curve(f"{table.name}, {table.title} ({table.source})", points)
