"""The page of program scores, for researchers: how close each program came to being right."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.models import ProgramScore
from tutoring.sessions.assignments import concealed_sessions
from tutoring.views.review_requests import requested_page

_TEXTS = ("statement", "statement_html", "analysis", "analysis_html")


@require_GET
@requires_role(Role.RESEARCHER)
def program_score_list(request: HttpRequest) -> HttpResponse:
    """List the programs of closed sessions, latest sessions first. Filter: `q`, a part of the problem's title."""
    texts = (f"session__problem__{text}" for text in _TEXTS)
    rows = ProgramScore.objects.select_related("event", "judgement", "session__problem__dataset")
    rows = rows.defer("event__data", *texts).exclude(session__in=concealed_sessions(request.user))
    rows = rows.order_by("-session__closed_at", "session", "generation")
    if text := request.GET.get("q", "").strip():
        rows = rows.filter(session__problem__title__icontains=text)
    context = {
        "rows": requested_page(request, rows),
        "text": text,
        "query": urlencode({"q": text}) if text else "",
    }
    return render(request, "tutoring/program_score_list.html", context)
