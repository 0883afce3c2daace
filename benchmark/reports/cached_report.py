"""Figures of runs stored in the database, so that pages read them instead of counting rows.

`store_report` runs when a run ends, after its last answers are judged, and in a background job for runs without stored
figures (`benchmark.worker.reports`). The functions that pages call only read.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from benchmark.model_calls import Price
from benchmark.models import CachedRunReport, Run, WorkItem
from benchmark.reports.draws import BetweenEpochs
from benchmark.reports.figures import RunFigures, measure
from benchmark.reports.groups import GroupFigures, PassAtK, TestsAtK
from benchmark.reports.memory import run_memory
from benchmark.reports.published_tables import comparable_rows
from benchmark.reports.run_metrics import RUN_METRICS
from benchmark.reports.steps import AfterReflections
from benchmark.reports.usage import Tokens

CACHE_VERSION = 6
"""The version of the stored document. A new version makes all stored figures stale."""

LIST_SECONDS = 2.0
"""Seconds that one page of a list may spend on figures that are not stored."""

_NOT_STORED = ("run", "dataset", "model", "method", "parameters", "manifest", "published", "memory")
"""Fields that are not stored: they are read from the run, the published tables and the memory probes."""


def item_counts(runs: Sequence[Run]) -> dict[Any, dict[str, int]]:
    """Return how many items of each run are in each state, by the run's key. An index alone answers the query."""
    rows = WorkItem.objects.filter(run__in=runs).order_by().values_list("run", "state").annotate(Count("pk"))
    counts: dict[Any, dict[str, int]] = {run.pk: {} for run in runs}
    for run, state, number in rows:
        counts[run][state] = number
    return counts


def run_report(run: Run) -> RunFigures:
    """Return the stored figures of the run's present state, or measure them if there are none. Writes nothing.

    The scores of memory probes are always read, because probes do not change the state of the run.
    """
    fingerprint = run_fingerprint(run)
    cached = CachedRunReport.objects.filter(run=run, fingerprint=fingerprint).first()
    found = _measured(run.pk, fingerprint) if cached is None else _read(run, cached.figures)
    return replace(found, memory=run_memory(run, found.cutoff))


def store_report(run: Run) -> RunFigures:
    """Measure the run and store its figures."""
    fingerprint = run_fingerprint(run)
    figures = measure(run)
    document = {name: value for name, value in asdict(figures).items() if name not in _NOT_STORED}
    CachedRunReport.objects.update_or_create(
        run=run,
        defaults={
            "fingerprint": fingerprint,
            "score": figures.headline.value if figures.headline else None,
            "figures": json.loads(json.dumps(document, default=str)),
        },
    )
    return figures


def cached_reports(runs: Sequence[Run]) -> list[RunFigures | None]:
    """Return the figures of finished runs that were read with their dataset and `cached_report`. Writes nothing.

    Figures that are not stored are measured until `LIST_SECONDS` are over; those of the remaining runs are None.
    """
    end = time.monotonic() + LIST_SECONDS
    found: list[RunFigures | None] = []
    for run in runs:
        cached: CachedRunReport | None = getattr(run, "cached_report", None)
        if cached is not None and cached.fingerprint == run_fingerprint(run):
            found.append(_read(run, cached.figures))
        else:
            found.append(_measured(run.pk, run_fingerprint(run)) if time.monotonic() < end else None)
    return found


@lru_cache(maxsize=64)
def _measured(run: UUID, _fingerprint: str) -> RunFigures:
    """Measure a run without stored figures once in each state, such as an open run whose page is visited often."""
    return measure(Run.objects.select_related("dataset").get(pk=run))


def runs_without_report() -> QuerySet[Run]:
    """Return the runs that have ended without stored figures of the present version."""
    current = Q(cached_report__fingerprint__startswith=f"{_version()} ")
    return Run.objects.exclude(state=Run.State.OPEN).exclude(current)


def run_fingerprint(run: Run) -> str:
    """Return a text that changes with the figures of the run.

    A finished run only changes when it is resumed, or when a rejudging replaces verdicts.
    """
    rejudged = f" rejudged {run.rejudged_at}" if run.rejudged_at else ""
    if run.state == Run.State.FINISHED:
        return f"{_version()} finished {run.finished_at} {run.failures}{rejudged}"
    counts = json.dumps(item_counts([run])[run.pk], sort_keys=True)
    return f"{_version()} {run.state} {run.failures} {counts}{rejudged}"


def _version() -> str:
    """Return the version of the document and of the list of metrics."""
    names = " ".join(sorted(RUN_METRICS))
    return f"{CACHE_VERSION}-{hashlib.sha256(names.encode()).hexdigest()[:8]}"


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
            "published": tuple(comparable_rows(run)),
            "cutoff": date.fromisoformat(document["cutoff"]) if document["cutoff"] else None,
            "groups": tuple(_group(group) for group in document["groups"]),
            "models_returned": tuple(document["models_returned"]),
            "between_epochs": tuple(
                BetweenEpochs(**one | {"values": tuple(one["values"])}) for one in document["between_epochs"]
            ),
            "time_factors": tuple(document.get("time_factors", ())),
            "after": tuple(AfterReflections(**one) for one in document["after"]),
            "tokens": tuple(Tokens(**tokens) for tokens in document["tokens"]),
            "price": Price(**document["price"]) if document["price"] else None,
        }
    )


def _group(document: dict[str, Any]) -> GroupFigures:
    return GroupFigures(
        **document
        | {
            **{
                name: tuple(PassAtK(**figure) for figure in document[name])
                for name in ("pass_at", "refine_at", "answered_at", "planned_at")
            },
            "tests_at": tuple(TestsAtK(**figure) for figure in document["tests_at"]),
        }
    )
