"""The growth of a session's programs after the session: for its tutor, and for readers of trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from accounts.roles import Role, requires_role
from benchmark.growth import growth_of
from benchmark.views.growth import GrowthSummary, growth_summary
from benchmark.views.plots import PagePlots
from tutoring.models import Session
from tutoring.protocols import rules_of
from tutoring.scores.growth import SessionProgram, request_growth, session_programs
from tutoring.sessions.conversation import session_for_tutor
from tutoring.trajectories.trajectory import may_see_growth, readable_session
from tutoring.views.requests import person_of
from tutoring.views.review_requests import for_trajectory_readers


@dataclass(frozen=True)
class ProgramGrowth:
    """A program of a session with its growth, ready for the page. `state` says why there is no growth."""

    generation: int
    growth: GrowthSummary | None
    state: str


@require_http_methods(["GET", "HEAD", "POST"])
@requires_role(Role.TUTOR)
def session_growth(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the tutor the growth of the session's programs once it may be shown. POST requests measurements."""
    try:
        session = session_for_tutor(session_id, person_of(request).pk)
    except Session.DoesNotExist:
        raise Http404("There is no such session.") from None
    if session.state != Session.State.CLOSED and not _shown_before_the_end(session):
        raise Http404("The growth of programs is shown after the session.")
    if request.method == "POST":
        request_growth(session)
        return redirect("session_growth", session_id)
    return _page(request, session, for_tutor=True)


@require_GET
@for_trajectory_readers
def trajectory_growth(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the growth of a closed session's programs to those who may see it (`may_see_growth`)."""
    session = readable_session(person_of(request), session_id)
    if session.state != Session.State.CLOSED:
        raise Http404("The growth of programs is shown after the session.")
    if not may_see_growth(person_of(request), session):
        raise PermissionDenied("Reviewers see the growth of programs after their review of the session.")
    return _page(request, session, for_tutor=False)


def _shown_before_the_end(session: Session) -> bool:
    return session.protocol is not None and rules_of(session.protocol).show_growth


def _page(request: HttpRequest, session: Session, *, for_tutor: bool) -> HttpResponse:
    programs = session_programs(session)
    plots = PagePlots(request)
    context = {
        "session": session,
        "programs": [_shown(one, plots) for one in programs],
        "missing": any(one.curve is None for one in programs),
        "for_tutor": for_tutor,
    }
    return plots.render("tutoring/growth.html", context)


def _shown(program: SessionProgram, plots: PagePlots) -> ProgramGrowth:
    curve = program.curve
    if curve is None:
        return ProgramGrowth(program.generation, None, "Not measured.")
    growth = growth_of(curve)
    if growth is not None:
        name = f"generation-{program.generation}"
        return ProgramGrowth(program.generation, growth_summary(growth, plots, name), "")
    return ProgramGrowth(program.generation, None, curve.fault or "Waiting for measurement.")
