"""The difference between any two programs of a session, for its tutor."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from benchmark.text.numbers import whole_number
from tutoring.models import Session
from tutoring.sessions.conversation import compare_programs, session_for_tutor
from tutoring.views.requests import NO_SESSION, person_of


@require_GET
@requires_role(Role.TUTOR)
def program_comparison(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the difference between two programs. Query: old, new (numbers of programs, from 1)."""
    try:
        session = session_for_tutor(session_id, person_of(request).pk)
    except Session.DoesNotExist:
        raise Http404(NO_SESSION) from None
    old, new = (whole_number(request.GET.get(name, "")) for name in ("old", "new"))
    comparison = compare_programs(session, old, new) if old and new else None
    if comparison is None:
        raise Http404("The session has no programs with these numbers.")
    return render(request, "tutoring/program_comparison.html", {"session": session, "comparison": comparison})
