"""The search of the workers for verdicts that no session holds yet (`settings.WORKER_SWEEPS`)."""

from __future__ import annotations

from benchmark.models import Judgement
from tutoring.actions import record_verdict
from tutoring.models import Session


def record_missed_verdicts() -> None:
    """Record the verdicts of executions whose worker ended between the judgement and its signal."""
    ended = (Judgement.State.DONE, Judgement.State.FAILED)
    waiting = Session.objects.filter(state=Session.State.JUDGING, judgement__state__in=ended)
    for session in waiting.select_related("judgement"):
        if session.judgement is not None:
            record_verdict(session.judgement)
