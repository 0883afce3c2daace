"""Erasing sessions with everything that was recorded of them, written about them, or copied from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

from benchmark.models import GrowthCurve, Judgement, RejudgedProgram, Submission
from tutoring.models import (
    Assignment,
    AuditEntry,
    Draft,
    DraftCheckRequest,
    DraftRequest,
    DraftWarning,
    Event,
    Finding,
    Flag,
    ProgramScore,
    Reply,
    ReplyDelta,
    Review,
    ReviewOutcome,
    RuleCheck,
    Session,
    SessionEffort,
    StoredFigures,
)
from tutoring.replay.withdrawal import erase_replays
from tutoring.withdrawal.reuse import erase_copies

ABOUT_SESSIONS: tuple[tuple[type[models.Model], str], ...] = (
    (Finding, "rule_check__session"),
    (RuleCheck, "session"),
    (ProgramScore, "session"),
    (SessionEffort, "session"),
    (ReplyDelta, "reply__session"),
    (Reply, "session"),
    (DraftCheckRequest, "session"),
    (DraftRequest, "session"),
    (Draft, "session"),
    (DraftWarning, "session"),
    (ReviewOutcome, "session"),
    (Review, "session"),
    (Flag, "session"),
)
"""The tables of sessions and the paths to their session, in the order in which their rows are deleted."""

KEPT = (Assignment, AuditEntry)
"""The tables whose rows stay without the session."""


def erase_sessions(ids: Sequence[UUID]) -> dict[str, int]:
    """Erase sessions of tutors; return the numbers of erased rows by kind. Call it in a transaction.

    Judgements and programs that nothing else uses are erased too. Assignments of studies stay with the outcomes that
    `tutoring.studies` has copied to them. The audit log keeps who did what and when.
    """
    overwrite_deleted_content()
    copies = erase_copies(ids)
    cards, judgements_of_replays = erase_replays(ids)
    judgements = _judgements_of(ids) | judgements_of_replays
    RejudgedProgram.objects.filter(session__in=ids).delete()
    counts = {"sessions": len(ids), **copies, "hint_cards": cards}
    for model, path in ABOUT_SESSIONS:
        rows = model._default_manager.filter(**{f"{path}__in": ids})
        rows.order_by().delete()
    StoredFigures.objects.all().delete()  # they count the sessions and name their messages
    AuditEntry.objects.filter(session__in=ids).update(session=None, data={})
    Assignment.objects.filter(session__in=ids).update(session=None)
    events = Event.objects.filter(session__in=ids)
    counts["events"] = events.count()
    events.delete()
    Session.objects.filter(pk__in=ids).delete()
    _erase_judgements(judgements)
    return counts


def overwrite_deleted_content() -> None:
    """Make SQLite overwrite the content of rows that it deletes or changes, and empty its log after the commit.

    PostgreSQL removes it with its next VACUUM, which runs by itself.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete=ON")
    transaction.on_commit(
        _empty_log, robust=True
    )  # a reader may hold the log; a later commit empties it then


def _empty_log() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _judgements_of(ids: Sequence[UUID]) -> set[int]:
    """Return the judgements that the sessions name, with those that rejudgings replaced."""
    named = Event.objects.filter(session__in=ids, data__judgement__isnull=False).values_list(
        "data__judgement", flat=True
    )
    columns = Session.objects.filter(pk__in=ids).values_list("judgement", "sample_judgement")
    scores = ProgramScore.objects.filter(session__in=ids).values_list("judgement", flat=True)
    found = {key for key in (*named, *scores, *(key for row in columns for key in row)) if key is not None}
    new = found
    while new:
        former = Judgement.objects.filter(replaced_by__in=new).values_list("pk", flat=True)
        later = Judgement.objects.filter(replaces__in=new).values_list("pk", flat=True)
        new = {*former, *later} - found
        found |= new
    return found


def _erase_judgements(keys: set[int]) -> None:
    """Delete the judgements that nothing else uses, then their programs and these programs' growth curves."""
    programs = set(Judgement.objects.filter(pk__in=keys).values_list("submission", flat=True))
    while unused := _unused(Judgement, keys):
        Judgement.objects.filter(pk__in=unused).delete()
        keys -= unused
    unused = _unused(Submission, programs, besides=GrowthCurve)
    GrowthCurve.objects.filter(submission__in=unused).delete()
    Submission.objects.filter(pk__in=unused).delete()


def _unused(
    model: type[models.Model], keys: Iterable[Any], besides: type[models.Model] | None = None
) -> set[Any]:
    """Return the keys of rows to which no row points, in any table but `besides`."""
    left = set(keys)
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ForeignObjectRel) and relation.related_model not in (besides, None):
            name = relation.field.name
            rows = relation.related_model._base_manager.filter(**{f"{name}__in": left})
            left -= set(rows.values_list(name, flat=True))
    return left
