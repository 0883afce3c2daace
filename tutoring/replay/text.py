"""The figures of a replay as text for terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.models import Problem
from benchmark.reports.formatting import INTERVAL_NAMES, samples_only_warning
from benchmark.text.numbers import with_minus
from judge.management.tables import aligned
from tutoring.models import ReplayRun

SIMULATED = "Simulated: the replies are scripted and say nothing about any model."
EXPLORATORY = "Exploratory: no frozen study names these figures."


def notices(run: ReplayRun) -> list[str]:
    """Return the sentences that belong to every figure of the run."""
    problems = Problem.objects.filter(pk__in=run.states.values("problem"))
    without = problems.filter(samples_only=True).count()
    return [
        *([SIMULATED] if run.manifest["scripted_model"] else []),
        *samples_only_warning(without, problems.count()),
        EXPLORATORY,
    ]


def figures_text(run: ReplayRun) -> str:
    """Return the figures of a run as lines of text."""
    figures: Mapping[str, Any] = run.figures or {}
    lines = [
        f"Replay {run.pk} to {run.model_spec}, {run.get_mode_display()}: {run.get_state_display()}",
        *notices(run),
        f"{figures['draws']:,} draws at {figures['placements']} placements on {figures['problems']} problems.",
    ]
    rows: list[tuple[str, ...]] = [("", "points", "95 %", "", "p", "problems", "placements", "detectable")]
    found = [*figures["gains"], *([figures["misfit_harm"]] if figures["misfit_harm"] else [])]
    rows += [_row(one["name"], one) for one in found]
    if history := figures.get("history"):
        rows.append(_row("gain of transplants less that at own programs", history))
    rows += [_row(f"{one['name']} {one['first']} less others", one) for one in figures["kinds"]]
    lines += aligned(rows)
    if figures["receptivity"]:
        lines.append(f"receptivity: {receptivity_text(figures['receptivity'])}")
    if figures["portability"]:
        lines.append(f"portability: {100 * figures['portability']['mean']:.1f} %")
    excluded = run.manifest["excluded"]
    lines += [f"Left out: {reason} ({number})" for reason, number in sorted(excluded.items())]
    return "\n".join(lines)


def receptivity_text(found: Mapping[str, Any]) -> str:
    """Return the ratio with its set, for example "0.31 [0.10, 0.52]"."""
    ratio = "–" if found["ratio"] is None else f"{found['ratio']:.2f}"
    ranges = (f"[{_end(low, '−∞')}, {_end(high, '∞')}]" for low, high in found["ranges"])
    return f"{ratio} {' or '.join(ranges)}"


def _end(value: float | None, infinite: str) -> str:
    return infinite if value is None else with_minus(f"{value:.2f}")


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    interval = "no interval" if one["low"] is None else f"[{100 * one['low']:+.1f}, {100 * one['high']:+.1f}]"
    p = one["adjusted"] if one["adjusted"] is not None else one["p"]
    return (
        name,
        f"{100 * one['mean']:+.1f}",
        interval,
        INTERVAL_NAMES[one["method"]] if one["method"] else "",
        "no test" if p is None else f"{p:.3f}",
        str(one["problems"]),
        str(one["placements"]),
        f"{100 * one['detectable']:.0f}",
    )
