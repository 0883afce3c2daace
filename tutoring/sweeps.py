"""What workers do every few seconds: find verdicts without a session, advance studies (`settings.WORKER_SWEEPS`)."""

from __future__ import annotations

from benchmark.models import Judgement
from tutoring.actions import record_verdict
from tutoring.models import Session, Study


def record_missed_verdicts() -> None:
    """Record the verdicts of executions whose worker ended between the judgement and its signal."""
    ended = (Judgement.State.DONE, Judgement.State.FAILED)
    waiting = Session.objects.filter(state=Session.State.JUDGING, judgement__state__in=ended)
    for session in waiting.select_related("judgement"):
        if session.judgement is not None:
            record_verdict(session.judgement)


def advance_studies() -> None:
    """Expire, replace, stop and close what is due in studies. The import is deferred: most sites have no study."""
    if Study.objects.filter(state__in=Study.UNFINISHED).exists():
        from tutoring.studies.upkeep import advance_studies

        advance_studies()
