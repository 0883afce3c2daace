"""How far each program was from being right: a page for researchers."""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.models import ProgramScore
from tutoring.views.requests import PAGE_SIZE

_TEXTS = ("statement", "statement_html", "analysis", "analysis_html")


@require_GET
@requires_role(Role.RESEARCHER)
def near_miss_list(request: HttpRequest) -> HttpResponse:
    """The programs of closed sessions, those of the latest first; `q` is a part of the problem's title."""
    texts = (f"session__problem__{text}" for text in _TEXTS)
    rows = ProgramScore.objects.select_related("event", "judgement", "session__problem__dataset")
    rows = rows.defer("event__data", *texts)
    rows = rows.order_by("-session__closed_at", "session", "generation")
    if text := request.GET.get("q", "").strip():
        rows = rows.filter(session__problem__title__icontains=text)
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"rows": page, "text": text, "query": urlencode({"q": text}) if text else ""}
    return render(request, "tutoring/near_miss_list.html", context)
