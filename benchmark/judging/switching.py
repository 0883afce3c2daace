"""The end of a rejudging: its verdicts replace the former ones everywhere at once, or it is discarded.

Rows that name a former judgement name the new one afterwards; both judgements stay. Packages above this one replace
theirs in the same transaction (`rejudging_applied`).
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.dispatch import Signal
from django.utils import timezone

from benchmark.judging.rejudging import RejudgingError, progress_of
from benchmark.judging.requests import copy_of
from benchmark.models import CachedRunReport, Generation, Judgement, RejudgedProgram, Rejudging, Run, WorkItem
from benchmark.models.parts import parts

rejudging_applied = Signal()
"""Sent with `rejudging`, `person` and `at` in the transaction that applies it, before judgements are replaced."""

_AT_ONCE = 200
"""Maximum number of judgements that are copied at once; their results are large."""

_MOST_NAMES = 3
"""Maximum number of problems or runs that an error names."""


def judged(rejudging: Rejudging) -> QuerySet[RejudgedProgram]:
    """Return the programs with a new verdict. Where the judge failed, the former verdict remains."""
    return rejudging.programs.filter(after__state=Judgement.State.DONE)


def replacement_of(rejudging: Rejudging, column: str) -> Subquery:
    """Return a subquery for updates of rows: the new judgement that replaces the former one in this column."""
    return Subquery(judged(rejudging).filter(before=OuterRef(column)).values("after")[:1])


def apply_rejudging(rejudging_id: int, person: User | None) -> Rejudging:
    """Replace the former verdicts with the new ones, in one transaction. Raises RejudgingError if this is refused."""
    with transaction.atomic():
        rejudging = _locked(rejudging_id)
        if refusal := refusal_to_apply(rejudging):
            raise RejudgingError(refusal)
        now = timezone.now()
        _split_shared(rejudging)
        rejudging_applied.send(Rejudging, rejudging=rejudging, person=person, at=now)
        _replace_in_runs(rejudging, now)
        pairs = judged(rejudging)
        Judgement.objects.filter(pk__in=pairs.values("before")).update(counts=False)
        Judgement.objects.filter(pk__in=pairs.values("after")).update(
            counts=True, replaces=Subquery(pairs.filter(after=OuterRef("pk")).values("before")[:1])
        )
        return _decide(rejudging, Rejudging.State.APPLIED, person, now)


def discard_rejudging(rejudging_id: int, person: User | None) -> Rejudging:
    """Keep the former verdicts. Programs that wait are not judged any more. Raises RejudgingError."""
    with transaction.atomic():
        rejudging = _locked(rejudging_id)
        waiting = rejudging.judgements.filter(state=Judgement.State.QUEUED)
        waiting.update(
            state=Judgement.State.FAILED, fault="the rejudging was discarded", finished_at=timezone.now()
        )
        return _decide(rejudging, Rejudging.State.DISCARDED, person, timezone.now())


def _locked(rejudging_id: int) -> Rejudging:
    """Return the rejudging, locked until the transaction ends. Raises RejudgingError unless it is open."""
    rejudging = Rejudging.objects.select_for_update().filter(pk=rejudging_id).first()
    if rejudging is None:
        raise RejudgingError(f"There is no rejudging {rejudging_id}.")
    if rejudging.state != Rejudging.State.OPEN:
        raise RejudgingError(f"Rejudging {rejudging_id} is {rejudging.state} already.")
    return rejudging


def _decide(rejudging: Rejudging, state: Rejudging.State, person: User | None, at: datetime) -> Rejudging:
    rejudging.state, rejudging.decided_by, rejudging.decided_at = state, person, at
    rejudging.save(update_fields=["state", "decided_by", "decided_at"])
    return rejudging


def refusal_to_apply(rejudging: Rejudging) -> str:
    """Return the sentence that says why an open rejudging cannot be applied now; blank if it can."""
    progress = progress_of(rejudging)
    if not progress.finished:
        left = progress.total - progress.done - progress.failed
        return f"{left:,} of {progress.total:,} programs are not judged yet."
    if rejudging.programs.filter(before__counts=False).exists():
        return "Another rejudging replaced some of these verdicts. Discard this one and request another one."
    changed = rejudging.programs.exclude(after__problem_hash=F("after__submission__problem__content_hash"))
    names = changed.order_by().values_list(
        "after__submission__problem__dataset__name", "after__submission__problem__external_id"
    )
    if problems := [f"{dataset}/{name}" for dataset, name in names.distinct()[:_MOST_NAMES]]:
        return (
            f"{', '.join(problems)} changed after the programs were judged. Discard this rejudging and request "
            "another one."
        )
    running = Run.objects.filter(
        state=Run.State.OPEN, items__rejudged_programs__rejudging=rejudging
    ).distinct()[:_MOST_NAMES]
    if names_of_runs := [str(run.pk) for run in running]:
        return f"Runs in progress use these verdicts: {', '.join(names_of_runs)}. Wait until they end."
    return ""


def _split_shared(rejudging: Rejudging) -> None:
    """Give each program a new judgement of its own: a copy for all but the first of those that share one."""
    programs = judged(rejudging).order_by("after", "pk")
    seen: set[int] = set()
    shared = []
    for pk, after in programs.values_list("pk", "after"):
        if after in seen:
            shared.append(pk)
        seen.add(after)
    for part in parts(shared, _AT_ONCE):
        rows = list(RejudgedProgram.objects.filter(pk__in=part).select_related("after").order_by("pk"))
        copies = [copy_of(row.after) for row in rows]
        for copy, row in zip(copies, rows, strict=True):
            copy.finished_at = row.after.finished_at
        Judgement.objects.bulk_create(copies)
        for row, copy in zip(rows, copies, strict=True):
            row.after = copy
        RejudgedProgram.objects.bulk_update(rows, ["after"])


def _replace_in_runs(rejudging: Rejudging, now: datetime) -> None:
    """Replace the judgements of chains and replies, and remove the stored figures of their runs."""
    former = judged(rejudging).values("before")
    for column in ("sample_judgement", "hidden_judgement"):
        Generation.objects.filter(**{f"{column}__in": former}).update(
            **{column: replacement_of(rejudging, column)}
        )
    WorkItem.objects.filter(judgement__in=former).update(judgement=replacement_of(rejudging, "judgement"))
    items = judged(rejudging).filter(work_item__isnull=False)
    runs = Run.objects.filter(pk__in=items.values("work_item__run"))
    CachedRunReport.objects.filter(run__in=runs).delete()
    runs.update(rejudged_at=now)
