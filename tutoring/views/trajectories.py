"""Trajectories for those who judge them: reviewers, researchers and admins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role, has_role, requires_role
from tutoring.actions import Invalidate
from tutoring.checks.findings import latest_check, may_see_findings, shown_findings
from tutoring.checks.records import recorded_checks
from tutoring.models import Session
from tutoring.review.records import readable_reviews
from tutoring.scores.records import to_records as near_misses
from tutoring.sessions.session_action import Refused
from tutoring.trajectories.json_lines import RECORDED, to_lines
from tutoring.trajectories.trajectory import read_trajectory, readable_session, readable_sessions
from tutoring.views.sessions import PAGE, command_id, person_of, text_field

readers = requires_role(Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)


_CLAIMED = "claimed:"

OUTCOMES = [
    *Session.Outcome.choices,
    *(
        (f"{_CLAIMED}{outcome.value}", f"claimed: {outcome.label.lower()}")
        for outcome in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED)
    ),
]
"""Values of the outcome filter. A claim is no verdict, so nobody finds it under `solved`."""


def _filtered(request: HttpRequest) -> QuerySet[Session]:
    """The sessions that the filters in the address ask for, newest first."""
    sessions = readable_sessions(person_of(request)).listed().select_related("tutor", "judgement")
    for field in ("origin", "state"):
        value = request.GET.get(field)
        if value:
            sessions = sessions.filter(**{field: value})
    outcome = request.GET.get("outcome")
    if outcome:
        claimed = outcome.startswith(_CLAIMED)
        sessions = sessions.filter(outcome=outcome.removeprefix(_CLAIMED), outcome_claimed=claimed)
    text = request.GET.get("q", "").strip()
    if text:
        sessions = sessions.filter(
            Q(problem__title__icontains=text)
            | Q(problem__external_id__icontains=text)
            | Q(source__icontains=text)
        )
    return sessions


@require_GET
@readers
def trajectory_list(request: HttpRequest) -> HttpResponse:
    """All sessions, held here or imported."""
    page = Paginator(_filtered(request), PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    return render(
        request,
        "tutoring/trajectory_list.html",
        {
            "trajectories": page,
            "query": query,
            "outcomes": OUTCOMES,
            "origins": Session.Origin.choices,
            "states": Session.State.choices,
        },
    )


@require_GET
@readers
def trajectory(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """One session, whole."""
    session = readable_session(person_of(request), session_id)
    shown = may_see_findings(person_of(request), session)
    findings = shown_findings(session) if shown else []
    return render(
        request,
        "tutoring/trajectory.html",
        {
            "trajectory": read_trajectory(session, findings),
            "findings_shown": shown,
            "rule_check": latest_check(session) if shown else None,
            "findings": findings,
            "near_misses": session.near_misses.select_related("event").order_by("generation")
            if has_role(person_of(request), Role.RESEARCHER)
            else [],
            "review_outcomes": session.review_outcomes.order_by("-rule_set"),
        },
    )


@require_GET
@readers
def export_one(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """One session as a line of JSON."""
    session = readable_session(person_of(request), session_id)
    return _download(request, [session], f"trajectory-{session.pk}.jsonl")


@require_GET
@readers
def export_all(request: HttpRequest) -> StreamingHttpResponse:
    """The sessions that the filters ask for, one line each."""
    sessions = _filtered(request).prefetch_related(*RECORDED).iterator(chunk_size=200)
    return _download(request, sessions, "trajectories.jsonl")


def _download(request: HttpRequest, sessions: Iterable[Session], name: str) -> StreamingHttpResponse:
    # Reviewers could read there what was found in a session that they have yet to review.
    sees_findings = has_role(person_of(request), Role.RESEARCHER, Role.ADMIN)
    lines = to_lines(
        sessions,
        readable_reviews,
        recorded_checks if sees_findings else lambda session: [],
        near_misses if has_role(person_of(request), Role.RESEARCHER) else lambda session: [],
    )

    async def one_by_one() -> AsyncIterator[str]:
        # The server is asynchronous: it would read a synchronous iterator whole before it sends anything.
        while line := await sync_to_async(lambda: next(lines, ""))():
            yield line

    response = StreamingHttpResponse(one_by_one(), content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@requires_role(Role.ADMIN)
def invalidate(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Fields: command, reason."""
    get_object_or_404(Session, pk=session_id)
    try:
        Invalidate(
            session_id=session_id,
            person=person_of(request),
            command=command_id(request),
            reason=text_field(request, "reason"),
        ).execute()
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect("trajectory", session_id=session_id)
