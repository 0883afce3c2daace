"""The rows of a report's tables as text, for terminals and for HTML."""

from benchmark.models.finishes import FINISHES
from benchmark.reports.figures import RunFigures
from benchmark.reports.formatting import (
    duration,
    format_price,
    headline_index,
    interval,
    money,
    percent,
    token_count,
)
from benchmark.reports.groups import GroupFigures

Rows = list[tuple[str, ...]]


def verdict_rows(figures: RunFigures) -> Rows:
    """Return verdicts, or states of the verifiers that a run built, each with its number and share."""
    counts = figures.verdicts or figures.verifiers
    return [(name, str(count), percent(count / figures.done)) for name, count in counts.items()]


def finish_rows(figures: RunFigures) -> Rows:
    """Return how replies ended, with number and share."""
    total = figures.generations
    return [
        (FINISHES[kind], str(count), percent(count / total if total else None))
        for kind, count in figures.finishes.items()
    ]


def token_rows(figures: RunFigures) -> Rows:
    """Return the kinds of tokens with their numbers."""
    return [(one.kind.replace("_", " "), token_count(one, figures.generations)) for one in figures.tokens]


def cost_rows(figures: RunFigures) -> Rows:
    """Return cost, price, interrupted calls and times."""
    return [
        ("cost", money(figures)),
        ("price", format_price(figures)),
        ("interrupted calls, possibly billed", str(figures.calls_broken_off)),
        ("total time of calls", duration(figures.seconds)),
        ("wall time", duration(figures.wall_seconds)),
    ]


def reflection_rows(figures: RunFigures) -> Rows:
    """Return numbers of reflections with the score, its interval, and the chains that are not judged."""
    return [(str(one.i), percent(one.value), interval(one), str(one.unjudged)) for one in figures.after]


def answered_and_planned(group: GroupFigures, figures: RunFigures) -> list[str]:
    """Return the headline over answered and over planned items; nothing without permanent failures."""
    if not figures.rejected or not figures.headline:
        return []
    return [percent(points[headline_index(group)].value) for points in (group.answered_at, group.planned_at)]
