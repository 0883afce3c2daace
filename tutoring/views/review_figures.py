"""Figures made of reviews, the sessions behind each of them, the audit log, and the labels as a table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from uuid import UUID

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Exists, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.models import AuditEntry, Review, Session, ReviewOutcome
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.agreement import (
    Measure,
    complete_pairs,
    counted_review_outcomes,
    measures,
    reviewer_pairs,
    sessions_of,
)
from tutoring.review.agreement import agreement as agreement_of_reviews
from tutoring.review.content import COMPLIANT
from tutoring.review.label_table import label_rows
from tutoring.review.records import readable_reviews
from tutoring.review.slots import reviewable
from tutoring.review.solve_rates import contrasts, counted_sessions, settled, solve_rates
from tutoring.rules import RuleSet, UnknownRuleSetError, current_rule_set, rule_set, rule_set_versions
from tutoring.trajectories.trajectory import readable_session
from tutoring.views.review_pages import UNREAD
from tutoring.views.sessions import PAGE, person_of
from tutoring.views.standalone_page import standalone_page

readers = requires_role(Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)


def requested_rule_set(request: HttpRequest) -> RuleSet:
    """The rule set in the address, the current one by default."""
    version = request.GET.get("rule_set", "")
    try:
        return rule_set(int(version)) if version else current_rule_set()
    except (ValueError, UnknownRuleSetError):
        raise BadRequest(f"There is no rule set {version!r}.") from None


def _asked_measure(request: HttpRequest, measured: tuple[Measure, ...], default: str) -> Measure:
    key = request.GET.get("measure", default)
    for measure in measured:
        if measure.key == key:
            return measure
    raise BadRequest(f"There is no measure {key!r}.")


@require_GET
@readers
def agreement(request: HttpRequest) -> HttpResponse:
    """Coefficients with intervals, the matrix between reviewers, and each reviewer's progress and time."""
    rules = requested_rule_set(request)
    measured = measures(rules)
    matrix_of = _asked_measure(request, measured, "forbidden")
    pairs = complete_pairs(rules.version)
    return render(
        request,
        "tutoring/review/agreement.html",
        {
            "rule_set": rules,
            "versions": rule_set_versions(),
            "sessions": len(pairs),
            "rows": agreement_of_reviews(pairs),
            "measures": measured,
            "matrix_of": matrix_of,
            "matrix": reviewer_pairs(pairs, matrix_of),
            "reviewers": reviewers_at_work(rules.version),
        },
    )


@dataclass(frozen=True)
class Reviewer:
    """One reviewer's work under a rule set. `minutes` is the median for a submitted review."""

    by: str
    submitted: int
    open: int
    skipped: int
    minutes: float | None


def reviewers_at_work(version: int) -> list[Reviewer]:
    """Everybody who has begun a review, by pseudonym. One query."""
    rows = Review.objects.filter(rule_set=version).order_by("by").values_list("by", "state", "active_seconds")
    found = []
    for by, reviews in groupby(rows, key=lambda row: row[0]):
        states = [(state, seconds) for _, state, seconds in reviews]
        times = [seconds / 60 for state, seconds in states if state == Review.State.SUBMITTED]
        found.append(
            Reviewer(
                by=by,
                submitted=len(times),
                open=sum(state == Review.State.OPEN for state, _ in states),
                skipped=sum(state == Review.State.SKIPPED for state, _ in states),
                minutes=median(times) if times else None,
            )
        )
    return found


@require_GET
@readers
def rates(request: HttpRequest) -> HttpResponse:
    """Solve rates of all and of compliant sessions, and contrasts of models and of protocols."""
    rules = requested_rule_set(request)
    rows = solve_rates(rules.version)
    return render(
        request,
        "tutoring/review/solve_rates.html",
        {
            "rule_set": rules,
            "versions": rule_set_versions(),
            "rule_set_version": str(rules.version),
            "rows": rows,
            "contrasts": contrasts(rows),
        },
    )


@require_GET
@requires_role(Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)
def sessions(request: HttpRequest) -> HttpResponse:
    """The sessions behind a figure. The address holds what the figure counts (see `_behind`)."""
    rules = requested_rule_set(request)
    found = _behind(request, rules)
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    return render(
        request,
        "tutoring/review/sessions.html",
        {"sessions": page, "query": query, "rule_set": rules},
    )


def _behind(request: HttpRequest, rules: RuleSet) -> SessionQuerySet:
    """Filters, all optional: measure with differing and reviewers; by with state; reviews; settled; and those of a
    solve rate: rate with model, protocol, attempt, found and solved, and with beside_model and beside_protocol the
    problems of another row alone."""
    asked = request.GET
    version = rules.version
    found = Session.objects.all()
    if "rate" in asked:
        found = _behind_rate(request, version)
    if "measure" in asked:
        measure = _asked_measure(request, measures(rules), "")
        chosen = sessions_of(
            complete_pairs(version),
            measure,
            differing="differing" in asked,
            reviewers=tuple(asked.getlist("reviewer")),
        )
        found = found.filter(pk__in=chosen)
    if "by" in asked:
        own = Review.objects.filter(rule_set=version, by=asked["by"], state=asked.get("state", "submitted"))
        found = found.filter(pk__in=own.values("session"))
    if "reviews" in asked:
        submitted = Review.objects.filter(
            rule_set=version, state=Review.State.SUBMITTED, slot__in=Review.INDEPENDENT
        )
        first = submitted.filter(slot=Review.FIRST).values("session")
        second = submitted.filter(slot=Review.SECOND).values("session")
        both, one = Q(pk__in=first) & Q(pk__in=second), Q(pk__in=first) ^ Q(pk__in=second)
        found = reviewable().filter({"2": both, "1": one}.get(asked["reviews"], Q()))
    if "settled" in asked:
        found = found.filter(review_outcomes__in=_settlements(version, disputed=asked["settled"] == "disputed"))
    return found.listed().prefetch_related("review_outcomes").order_by("-recorded_at")


def _settlements(version: int, *, disputed: bool) -> QuerySet[ReviewOutcome]:
    review_outcomes = counted_review_outcomes(version)
    return review_outcomes.filter(verdict="") if disputed else review_outcomes.exclude(verdict="")


def _of_row(asked: QueryDict, model: str, protocol: str) -> SessionQuerySet:
    """The sessions of one row of the solve rates; `model` and `protocol` are the names of the parameters."""
    number = asked.get(protocol, "")
    if number and not (number.isdecimal() and len(number) < 10):
        raise BadRequest("The protocol must be given by its number.")
    found = counted_sessions().filter(
        model_spec=asked.get(model, ""),
        protocol=int(number) if number else None,
        outcome_claimed="claimed" in asked,
    )
    match asked.get("attempt"):
        case "first":
            return found.filter(number=1)
        case "later":
            return found.filter(number__gt=1)
    return found.filter(number=None)


def _behind_rate(request: HttpRequest, version: int) -> SessionQuerySet:
    asked = request.GET
    found = _of_row(asked, "model", "protocol")
    if "beside_model" in asked:
        found = found.filter(problem__in=_of_row(asked, "beside_model", "beside_protocol").values("problem"))
    match asked.get("found"):
        case "compliant":
            found = found.filter(Exists(settled(version).filter(verdict=COMPLIANT)))
        case "breached":
            found = found.filter(Exists(settled(version).exclude(verdict=COMPLIANT)))
        case "unreviewed":
            found = found.exclude(Exists(settled(version)))
        case "late":
            found = found.filter(late_replies__gt=0)
    return found.filter(outcome=Session.Outcome.SOLVED) if "solved" in asked else found


@require_GET
@requires_role(Role.ADMIN)
def audit(request: HttpRequest) -> HttpResponse:
    """Who did what, the newest first. Filters: person (user name), action, session."""
    entries = AuditEntry.objects.select_related("person", "session__problem").defer(*UNREAD)
    names = {"person": "person__username", "action": "action", "command": "command", "session": "session"}
    for name in ("command", "session"):
        if request.GET.get(name):
            try:
                UUID(request.GET[name])
            except ValueError:
                raise BadRequest(f"The {name} must be an id.") from None
    for name, column in names.items():
        if request.GET.get(name):
            entries = entries.filter(**{column: request.GET[name]})
    page = Paginator(entries, PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    return render(
        request, "tutoring/review/audit.html", {"entries": page, "query": query, "actions": actions}
    )


@require_GET
@readers
def labels(request: HttpRequest) -> HttpResponse:
    """The labels as CSV, a row for each message of each review; of sessions whose independent reviews are in."""
    reviewed = (
        Session.objects.filter(review_outcomes__isnull=False)
        .distinct()
        .select_related("problem__dataset")
        .prefetch_related("reviews")
        .order_by("recorded_at")
    )
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="labels.csv"'
    csv.writer(response).writerows(label_rows(reviewed.iterator(200), readable_reviews))
    return response


@require_GET
@requires_role(Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)
def page_of_session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """One session as one file: conversation, verdicts, and labels that are complete."""
    session = readable_session(person_of(request), session_id)
    response = HttpResponse(standalone_page(session))
    response["Content-Disposition"] = f'attachment; filename="session-{session.pk}.html"'
    return response
