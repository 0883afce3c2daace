"""Figures kept in the database, so that a page of a run, or of many, counts no rows twice."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from django.db.models import Count

from benchmark.model_calls import Price
from benchmark.models import KeptFigures, Run, WorkItem
from benchmark.reports.draws import BetweenEpochs
from benchmark.reports.figures import RunFigures, measure
from benchmark.reports.groups import Group, PassAtK, TestsAtK
from benchmark.reports.published_tables import beside
from benchmark.reports.steps import AfterReflections
from benchmark.reports.usage import Tokens

FORM = 4
"""Raised when what is kept changes its form, so that it is measured again."""

_NOT_KEPT = ("run", "dataset", "model", "method", "parameters", "manifest", "published")
"""Read from the run and the published tables instead."""


def item_counts(runs: Sequence[Run]) -> dict[Any, dict[str, int]]:
    """How many items of each run are in each state, from an index alone."""
    rows = WorkItem.objects.filter(run__in=runs).order_by().values_list("run", "state").annotate(Count("pk"))
    counts: dict[Any, dict[str, int]] = {run.pk: {} for run in runs}
    for run, state, number in rows:
        counts[run][state] = number
    return counts


def kept_figures(run: Run) -> RunFigures:
    """The figures with the headline, measured again only when the run has gone on since."""
    stamp = _stamp(run, {} if run.state == Run.State.FINISHED else item_counts([run])[run.pk])
    kept = KeptFigures.objects.filter(run=run, stamp=stamp).first()
    if kept is not None:
        return _read(run, kept.figures)
    figures = measure(run)
    document = {name: value for name, value in asdict(figures).items() if name not in _NOT_KEPT}
    KeptFigures.objects.update_or_create(
        run=run,
        defaults={
            "stamp": stamp,
            "score": figures.headline.value if figures.headline else None,
            "figures": json.loads(json.dumps(document, default=str)),
        },
    )
    return figures


def kept_list(runs: Sequence[Run]) -> list[RunFigures]:
    """The figures of finished runs that were read with their dataset and `kept`: no query for what is kept."""
    found = []
    for run in runs:
        kept: KeptFigures | None = getattr(run, "kept", None)
        if kept is not None and kept.stamp == _stamp(run, {}):
            found.append(_read(run, kept.figures))
        else:
            found.append(kept_figures(run))
    return found


def _stamp(run: Run, counts: dict[str, int]) -> str:
    """A finished run changes only by going on, which ends its being finished."""
    if run.state == Run.State.FINISHED:
        return f"{FORM} finished {run.finished_at} {run.failures}"
    return f"{FORM} {run.state} {run.failures} {json.dumps(counts, sort_keys=True)}"


def _read(run: Run, document: dict[str, Any]) -> RunFigures:
    return RunFigures(
        **document
        | {
            "run": str(run.pk),
            "dataset": run.dataset.name,
            "model": run.model_spec,
            "method": run.method,
            "parameters": run.parameters | {"attempts": run.attempts},
            "manifest": run.manifest,
            "published": tuple(beside(run)),
            "cutoff": date.fromisoformat(document["cutoff"]) if document["cutoff"] else None,
            "groups": tuple(_group(group) for group in document["groups"]),
            "models_returned": tuple(document["models_returned"]),
            "between_epochs": tuple(
                BetweenEpochs(**one | {"values": tuple(one["values"])}) for one in document["between_epochs"]
            ),
            "after": tuple(AfterReflections(**one) for one in document["after"]),
            "tokens": tuple(Tokens(**tokens) for tokens in document["tokens"]),
            "price": Price(**document["price"]) if document["price"] else None,
        }
    )


def _group(document: dict[str, Any]) -> Group:
    return Group(
        **document
        | {
            **{
                name: tuple(PassAtK(**figure) for figure in document[name])
                for name in ("pass_at", "refine_at", "answered_at", "planned_at")
            },
            "tests_at": tuple(TestsAtK(**figure) for figure in document["tests_at"]),
        }
    )
