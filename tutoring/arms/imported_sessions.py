"""The sessions of imported runs of arms: recreated from the stored replies and verdicts, with the same ids.

The export of a run contains no sessions. They are a function of its rows, of the problems and of the protocol.
"""

from __future__ import annotations

from itertools import islice

from django.db import transaction

from benchmark.models import Generation, Run, WorkItem
from benchmark.prompts import Prompt
from tutoring.arms.methods import POLICIES
from tutoring.arms.projection import project
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.transcript import PROTOCOL, PolicyError
from tutoring.models import Event, Protocol, Session
from tutoring.models.payloads import SessionOpened
from tutoring.sessions.dialogue import messages_of

ITEMS_AT_ONCE = 100
"""Work items whose replies are in memory together."""


class _OtherSessionsError(Exception):
    """Sessions that would differ from those of the source. The message says why."""


def recreate_sessions(run: Run) -> str:
    """Store the sessions that an imported run of an arm lacks, all or none.

    Return a sentence that says how many there are, or why there are none; blank for runs of other methods and if no
    session is missing. Call it in a transaction.
    """
    missing = run.items.filter(state=WorkItem.State.DONE, session__isnull=True)
    if run.method not in POLICIES or not missing.exists():
        return ""
    if not (reason := _reason_without(run)):
        try:
            with transaction.atomic():
                number = _recreate(run)
        except (_OtherSessionsError, KeyError, PolicyError, RuntimeError, ValueError) as error:
            reason = f"its rows do not give them ({error})"
        else:
            return f"{number} sessions of run {run.pk} were recreated from its replies."
    return f"The sessions of run {run.pk} were not recreated: {reason}."


def _reason_without(run: Run) -> str:
    """Return why the sessions of the run cannot be recreated on this site, or blank."""
    prepared = run.manifest.get("prepared", {})
    if run.dataset.known_as:
        return f"this site has no statements of {run.dataset.known_as}. Import the dataset before the run"
    if STARTS in prepared:
        return "they begin with sessions of people, which exports of runs do not contain"
    protocol = {name: prepared.get(PROTOCOL, {}).get(name) for name in ("name", "version", "content_hash")}
    if not Protocol.objects.filter(**protocol).exists():
        return (
            f"this site has no protocol {protocol['name']}@{protocol['version']} with the same rules. Freeze it, and "
            "import the folder again"
        )
    return ""


def _recreate(run: Run) -> int:
    items = run.items.filter(state=WorkItem.State.DONE, session__isnull=True).select_related(
        "problem__dataset"
    )
    rows, number = items.order_by("pk").iterator(chunk_size=ITEMS_AT_ONCE), 0
    while batch := list(islice(rows, ITEMS_AT_ONCE)):
        sessions = project(run, batch)
        _check_prompts(sessions)
        number += len(sessions)
    return number


def _check_prompts(sessions: list[Session]) -> None:
    """Raise _OtherSessionsError if a first prompt is not the one that was sent, as with other versions of the texts."""
    sent = dict(
        Generation.objects.filter(work_item__session__in=sessions, step=0).values_list(
            "work_item__session", "messages"
        )
    )
    first = Event.objects.filter(session__in=sessions, seq__lte=2).order_by("session", "seq")
    events: dict[object, list[Event]] = {}
    for event in first:
        events.setdefault(event.session_id, []).append(event)
    for session in sessions:
        payloads = [event.payload for event in events[session.pk]]
        assert isinstance(payloads[0], SessionOpened)
        if Prompt(tuple(messages_of(payloads)), "").to_json() != sent[session.pk]:
            raise _OtherSessionsError("this version of Hintbench or of the problem has another prompt")
