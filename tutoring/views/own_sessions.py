"""The tutor's own sessions: a list with the open ones first, and an export of what their pages show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.models import PrivateNote, Session
from tutoring.sessions.assignments import concealed_ids
from tutoring.sessions.own_record import RECORDED, own_record
from tutoring.sessions.visible_outcomes import VisibleStatus, own_sessions, session_status
from tutoring.views.requests import PAGE_SIZE, Choice, person_of, send_lines

SESSIONS_AT_ONCE = 50
"""Sessions whose events an export reads with one query."""

_IN_ORDER = ("-state", "-recorded_at")
"""In descending order of the alphabet, the states are open, judging, closed. An index has this order."""


@dataclass(frozen=True)
class SessionFilters:
    """The filters in the address. An unknown status matches no session."""

    text: str
    status: str

    @classmethod
    def of(cls, request: HttpRequest) -> SessionFilters:
        """Return the filters of the request."""
        return cls(**{name: request.GET.get(name, "").strip()[:200] for name in cls.__dataclass_fields__})

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(vars(self).values())

    @property
    def query(self) -> str:
        """The filters as a query string without the page number."""
        return urlencode({name: value for name, value in vars(self).items() if value})


@require_GET
@requires_role(Role.TUTOR)
def session_list(request: HttpRequest) -> HttpResponse:
    """Show the tutor's own sessions: open ones, those that wait for a verdict, closed ones, each newest first.

    Query: text, status, page.
    """
    filters = SessionFilters.of(request)
    sessions = own_sessions(person_of(request)).annotate(visible_status=session_status())
    counts = dict(sessions.order_by().values_list("visible_status").annotate(Count("pk")))
    found = sessions.filter(visible_status=filters.status) if filters.status else sessions
    for word in filters.text.split():
        found = found.filter(Q(problem__title__icontains=word) | Q(problem__external_id__icontains=word))
    keys = found.order_by(*_IN_ORDER).values_list("pk", flat=True)
    paginator = Paginator(keys, PAGE_SIZE)
    if not filters.text:
        paginator.count = counts.get(filters.status, 0) if filters.status else sum(counts.values())
    page = paginator.get_page(request.GET.get("page"))
    context = {
        "filters": filters,
        "page": page,
        "sessions": Session.objects.listed().in_order(page.object_list),
        "concealed": concealed_ids(person_of(request)),
        "statuses": [
            Choice(status.value, str(status.label), counts[status.value])
            for status in VisibleStatus
            if status.value in counts
        ],
        "total": sum(counts.values()),
    }
    return render(request, "tutoring/session_list.html", context)


@require_GET
@requires_role(Role.TUTOR)
def export_own_sessions(request: HttpRequest) -> StreamingHttpResponse:
    """Send the tutor's sessions, oldest first, with what their pages show, then the private notes, as JSON lines."""
    return send_lines(_lines(person_of(request)), "my-sessions.jsonl")


def _lines(tutor: User) -> Iterator[str]:
    concealed = concealed_ids(tutor)
    sessions = own_sessions(tutor).listed().order_by("recorded_at").prefetch_related(*RECORDED)
    for session in sessions.iterator(chunk_size=SESSIONS_AT_ONCE):
        yield f"{json.dumps(own_record(session, session.pk in concealed), ensure_ascii=False)}\n"
    notes = PrivateNote.objects.filter(person=tutor).exclude(text="").select_related("problem__dataset")
    for note in notes.order_by("pk"):
        yield f"{json.dumps(_note_record(note), ensure_ascii=False)}\n"


def _note_record(note: PrivateNote) -> dict[str, str]:
    saved_at = note.saved_at.isoformat()
    return {"kind": "note", "problem": str(note.problem), "text": note.text, "saved_at": saved_at}
