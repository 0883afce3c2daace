"""Assignment of many sessions by an admin: filters, the plan, and the command that carries it out."""

from __future__ import annotations

from datetime import date

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from benchmark.text.numbers import whole_number
from tutoring.models import AuditEntry, Protocol, Review, Session, Study
from tutoring.review.actions import role_for
from tutoring.review.bulk_assignment import (
    LARGEST_BATCH,
    NEEDS,
    AssignMatching,
    SessionFilter,
    plan_assignments,
)
from tutoring.review.slots import ORIGINS, occupied_slots
from tutoring.rules import current_rule_set
from tutoring.views.requests import PAGE_SIZE, command_id, number_field, person_of
from tutoring.views.review_requests import people_with, requested_origins
from tutoring.views.reviews import command

NEEDS_NAMES = {
    "reviews": "Needs a review",
    "first": "No review yet",
    "second": "Needs the second review",
    "adjudication": "Disputed: needs an adjudication",
}
ORIGIN_NAMES = {"people": "Human sessions", "automatic": "Automatic sessions", "all": "All sessions"}


@require_GET
@requires_role(Role.ADMIN)
def review_assignments(request: HttpRequest) -> HttpResponse:
    """Show the sessions that match the filters, and with chosen reviewers the plan of their assignment.

    Query: the filters of `requested_filter`, reviewer (user name, several), most (new reviews of a session: 1 or 2).
    """
    selection, version, now = requested_filter(request.GET), current_rule_set().version, timezone.now()
    people = list(people_with(role_for(selection.adjudicates)))
    chosen = _requested_reviewers(request.GET, selection)
    keys, count = selection.first_keys(LARGEST_BATCH if chosen else PAGE_SIZE, version, now)
    open_now = dict(
        Review.objects.filter(
            state=Review.State.OPEN, slot__isnull=False, lease_until__gt=now, rule_set=version
        )
        .order_by()
        .values_list("reviewer")
        .annotate(Count("pk"))
    )
    plan = None
    if chosen and count <= LARGEST_BATCH:
        most = _requested_reviews(request.GET)
        plan = plan_assignments(keys, chosen, most, version, now, adjudicates=selection.adjudicates)
    return render(
        request,
        "tutoring/review/assignments.html",
        {
            "selection": selection,
            "query": request.GET,
            "count": count,
            "sessions": Session.objects.listed()
            .annotate(occupied_slots=occupied_slots(version, now))
            .in_order(keys[:PAGE_SIZE]),
            "largest": LARGEST_BATCH,
            "needs": [(name, NEEDS_NAMES[name]) for name in NEEDS],
            "origins": [(name, ORIGIN_NAMES[name]) for name in ORIGINS],
            "studies": Study.objects.exclude(state=Study.State.DRAFT).defer("design"),
            "protocols": Protocol.objects.order_by("name", "-version").defer("rules"),
            "people": [(person, open_now.get(person.pk, 0), person in chosen) for person in people],
            "plan": plan,
            "planned": [(person, plan.by_person[person.pk]) for person in chosen] if plan else [],
        },
    )


@command(Role.ADMIN, page="review_assignments")
def assign_matching(request: HttpRequest) -> str:
    """Carry out the plan. The query is that of the page. Fields: command, expected (confirmed number of reviews)."""
    command_of_page, selection = command_id(request), requested_filter(request.GET)
    AssignMatching(
        person=person_of(request),
        command=command_of_page,
        selection=selection,
        reviewers=_requested_reviewers(request.GET, selection),
        most=_requested_reviews(request.GET),
        expected=number_field(request, "expected"),
    ).execute()
    done = AuditEntry.objects.get(command=command_of_page, session=None).data
    shares = ", ".join(f"{name} {count}" for name, count in sorted(done["reviewers"].items()))
    messages.success(
        request, f"Assigned: {done['reviews']} reviews of {done['sessions']} sessions ({shares})."
    )
    return "review_queue"


def requested_filter(query: QueryDict) -> SessionFilter:
    """Return the filter in an address. Raise BadRequest for values that the page does not offer.

    Query: needs, origin, study and protocol (primary keys), problem (text), since and until (days).
    """
    needs = next((one for one in NEEDS if one == query.get("needs", NEEDS[0])), None)
    if needs is None:
        raise BadRequest(f"The parameter 'needs' must be one of: {', '.join(NEEDS)}.")
    return SessionFilter(
        needs=needs,
        origins=requested_origins(query),
        study=_requested_key(query, "study"),
        protocol=_requested_key(query, "protocol"),
        problem=query.get("problem", "").strip(),
        since=_requested_day(query, "since"),
        until=_requested_day(query, "until"),
    )


def _requested_key(query: QueryDict, name: str) -> int | None:
    value = query.get(name, "")
    number = whole_number(value)
    if value and number is None:
        raise BadRequest(f"The parameter '{name}' must be the number of a row.")
    return number


def _requested_day(query: QueryDict, name: str) -> date | None:
    value = query.get(name, "")
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise BadRequest(f"The parameter '{name}' must be a day such as 2026-01-31.") from None


def _requested_reviews(query: QueryDict) -> int:
    value = query.get("most", "2")
    if value not in ("1", "2"):
        raise BadRequest("The parameter 'most' must be 1 or 2.")
    return int(value)


def _requested_reviewers(query: QueryDict, selection: SessionFilter) -> tuple[User, ...]:
    """Return the chosen people. The choice may be older than the filter: people without its role are left out."""
    names = set(query.getlist("reviewer"))
    known = set(User.objects.filter(username__in=names, is_active=True).values_list("username", flat=True))
    if unknown := names - known:
        raise BadRequest(f"There is no active account with the user name {min(unknown)!r}.")
    return tuple(people_with(role_for(selection.adjudicates)).filter(username__in=names))
