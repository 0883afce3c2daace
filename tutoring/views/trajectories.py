"""Pages and exports of trajectories for reviewers, adjudicators, researchers and admins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.paging import query_without_page
from accounts.roles import Role, has_role, requires_role
from benchmark.methods import SettingsError
from tutoring.actions import Invalidate
from tutoring.arms.human_sessions import matching_sessions
from tutoring.checks.findings import latest_check, may_see_findings, shown_findings
from tutoring.checks.records import recorded_checks
from tutoring.models import ReplayRun, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.replay.records import to_records as replays
from tutoring.review.records import readable_reviews
from tutoring.scores.records import to_records as program_scores
from tutoring.sessions.context import RefusedError
from tutoring.trajectories.json_lines import RECORDED, to_lines
from tutoring.trajectories.trajectory import (
    blinded_events,
    may_see_growth,
    read_trajectory,
    readable_session,
    readable_sessions,
    sees_origins,
)
from tutoring.views.requests import command_id, person_of, send_lines, text_field
from tutoring.views.review_requests import for_trajectory_readers, requested_page
from tutoring.views.withdrawals import withdrawn_page

_CLAIMED = "claimed:"
_RUN = ("run", "item")
"""Keys of the source of an automatic session, which its record keeps when another site imports it."""

OUTCOMES = [
    *Session.Outcome.choices,
    *(
        (f"{_CLAIMED}{outcome.value}", f"claimed: {outcome.label.lower()}")
        for outcome in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED)
    ),
]
"""Values of the outcome filter. A claimed outcome is not a verdict and has a value of its own."""


def _shown(sessions: SessionQuerySet) -> SessionQuerySet:
    """Select the related rows that the list and the exports show."""
    return sessions.listed().select_related("tutor", "judgement")


def _filtered(request: HttpRequest) -> SessionQuerySet:
    """Return the sessions that match the filters in the address, newest first.

    Filters: origin, state, outcome, q (text in problem, file or source), and those of `_with_origin_filters`.
    """
    sessions = readable_sessions(person_of(request))
    if sees_origins(person_of(request)):
        sessions = _with_origin_filters(request, sessions)
    if state := request.GET.get("state"):
        sessions = sessions.filter(state=state)
    if origin := request.GET.get("origin"):
        sessions = sessions.filter(origin__in=_origins(request, origin))
    outcome = request.GET.get("outcome")
    if outcome:
        claimed = outcome.startswith(_CLAIMED)
        sessions = sessions.filter(outcome=outcome.removeprefix(_CLAIMED), outcome_claimed=claimed)
    text = request.GET.get("q", "").strip()
    if text:
        # Other values of a source, such as a run, reveal the origin.
        source = "source" if sees_origins(person_of(request)) else "source__head__source__file"
        sessions = sessions.filter(
            Q(problem__title__icontains=text)
            | Q(problem__external_id__icontains=text)
            | Q((f"{source}__icontains", text))
        )
    return sessions


def _origins(request: HttpRequest, origin: str) -> list[str]:
    """Return the origins that this value of the filter selects."""
    if sees_origins(person_of(request)) or origin not in (Session.Origin.TUTORED, Session.Origin.AUTOMATIC):
        return [origin]
    return [Session.Origin.TUTORED, Session.Origin.AUTOMATIC]


def _with_origin_filters(request: HttpRequest, sessions: SessionQuerySet) -> SessionQuerySet:
    """Return the sessions that match the filters which show the origin of a session, for researchers and admins.

    Filters: people (sessions of people, as in `manage.py arms`), run (the id of an arm's run), replay and reason (the
    sessions that a replay leaves out for this reason), invalidated. Raises BadRequest.
    """
    if people := request.GET.get("people"):
        try:
            sessions = sessions.filter(pk__in=matching_sessions(people).order_by().values("pk"))
        except SettingsError as error:
            raise BadRequest(str(error)) from None
    if run := request.GET.get("run"):
        try:
            sessions = sessions.filter(work_item__run=UUID(run))
        except ValueError:
            raise BadRequest("The parameter 'run' must be the id of a run.") from None
    if replay := request.GET.get("replay"):
        sessions = sessions.filter(pk__in=_left_out(replay, request.GET.get("reason", "")))
    return sessions.filter(invalidated=True) if "invalidated" in request.GET else sessions


def _left_out(replay: str, reason: str) -> list[str]:
    """Return the ids of the sessions that a replay leaves out for this reason. Raises BadRequest."""
    try:
        run = ReplayRun.objects.filter(pk=UUID(replay)).first()
    except ValueError:
        raise BadRequest("The parameter 'replay' must be the id of a replay.") from None
    found: list[str] = run.manifest.get("excluded_sessions", {}).get(reason, []) if run else []
    return found


@require_GET
@for_trajectory_readers
def trajectory_list(request: HttpRequest) -> HttpResponse:
    """List all sessions, tutored here or imported."""
    page = requested_page(request, _filtered(request).values_list("pk", flat=True))
    return render(
        request,
        "tutoring/trajectory_list.html",
        {
            "page": page,
            "sessions": _shown(Session.objects.all()).in_order(page.object_list),
            "query": query_without_page(request),
            "outcomes": OUTCOMES,
            "origins": [
                choice
                for choice in Session.Origin.choices
                if sees_origins(person_of(request)) or choice[0] != Session.Origin.AUTOMATIC
            ],
            "sees_policies": sees_origins(person_of(request)),
            "states": Session.State.choices,
        },
    )


@require_GET
@for_trajectory_readers
def trajectory(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show one session with all its events, or that it was withdrawn."""
    if (withdrawn := withdrawn_page(request, session_id)) is not None:
        return withdrawn
    session = readable_session(person_of(request), session_id)
    shown = may_see_findings(person_of(request), session)
    findings = shown_findings(session) if shown else []
    return render(
        request,
        "tutoring/trajectory.html",
        {
            "trajectory": read_trajectory(session, findings),
            "findings_shown": shown,
            "growth_shown": may_see_growth(person_of(request), session),
            "sees_policies": sees_origins(person_of(request)),
            "rule_check": latest_check(session) if shown else None,
            "findings": findings,
            "program_scores": session.program_scores.select_related("event", "judgement").order_by(
                "generation"
            )
            if has_role(person_of(request), Role.RESEARCHER)
            else [],
            "review_outcomes": session.review_outcomes.order_by("-rule_set"),
        },
    )


@require_GET
@for_trajectory_readers
def export_one(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """Send one session as a line of JSON."""
    session = readable_session(person_of(request), session_id)
    return _download(request, [session], f"trajectory-{session.pk}.jsonl")


@require_GET
@for_trajectory_readers
def export_all(request: HttpRequest) -> StreamingHttpResponse:
    """Send the sessions that match the filters, one line of JSON each."""
    sessions = _shown(_filtered(request)).prefetch_related(*RECORDED).iterator(chunk_size=200)
    return _download(request, sessions, "trajectories.jsonl")


def _download(request: HttpRequest, sessions: Iterable[Session], name: str) -> StreamingHttpResponse:
    # Without findings for reviewers, who may still have to review these sessions.
    sees_findings = has_role(person_of(request), Role.RESEARCHER, Role.ADMIN)
    sees_hidden_tests = has_role(person_of(request), Role.RESEARCHER)
    sees_policies = sees_origins(person_of(request))
    lines = to_lines(
        sessions if sees_policies else map(_blinded, sessions),
        readable_reviews,
        recorded_checks if sees_findings else _no_rows,
        program_scores if sees_hidden_tests else _no_rows,
        replays if sees_hidden_tests else _no_rows,
        events_of=None if sees_policies else blinded_events,
    )
    return send_lines(lines, name)


def _blinded(session: Session) -> Session:
    """Return the session without its run, its tutor and its end, which reveal who held it."""
    if session.origin == Session.Origin.AUTOMATIC:
        session.source = {}
    elif head := session.source.get("head"):
        source = {name: value for name, value in (head.get("source") or {}).items() if name not in _RUN}
        session.source = {"head": {**head, "tutor": None, "closed_at": None, "source": source}}
    session.tutor = session.closed_at = None
    return session


def _no_rows(_: Session) -> list[Any]:
    return []


@require_POST
@requires_role(Role.ADMIN)
def invalidate(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Invalidate a session. Fields: command, reason."""
    get_object_or_404(Session, pk=session_id)
    try:
        Invalidate(
            session_id=session_id,
            person=person_of(request),
            command=command_id(request),
            reason=text_field(request, "reason"),
        ).execute()
    except RefusedError as refused:
        messages.error(request, str(refused))
    return redirect("trajectory", session_id=session_id)
