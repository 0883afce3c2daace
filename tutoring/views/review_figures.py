"""Pages of reviewer agreement and solve rates, the sessions that each figure counts, the audit log, and the labels."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from uuid import UUID

from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Count, Exists, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.text.numbers import whole_number
from benchmark.views.downloads import file_download
from tutoring.checks.findings import may_see_findings
from tutoring.models import AuditEntry, Review, ReviewOutcome, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.agreement import (
    AgreementMeasure,
    agreement_measures,
    counted_review_outcomes,
    outcomes_of,
)
from tutoring.review.content import COMPLIANT
from tutoring.review.label_table import label_rows
from tutoring.review.records import readable_reviews
from tutoring.review.slots import reviewable
from tutoring.review.solve_rates import contrasts, counted_sessions, decided_outcome
from tutoring.review.stored_figures import AGREEMENT, SOLVE_RATES
from tutoring.rules import RuleSet, rule_set_versions
from tutoring.trajectories.trajectory import readable_session, readable_sessions, sees_origins
from tutoring.views.requests import person_of
from tutoring.views.review_pages import DEFERRED
from tutoring.views.review_requests import (
    for_figure_readers,
    for_trajectory_readers,
    requested_page,
    requested_rule_set,
)
from tutoring.views.standalone_page import standalone_page


def _requested_measure(request: HttpRequest, rules: RuleSet, default: str) -> AgreementMeasure:
    key = request.GET.get("measure", default)
    for measure in agreement_measures(rules):
        if measure.key == key:
            return measure
    raise BadRequest(f"There is no measure {key!r}.")


@require_GET
@for_figure_readers
def agreement(request: HttpRequest) -> HttpResponse:
    """Show coefficients with intervals, agreement of each pair of reviewers, and each reviewer's progress and time."""
    rules = requested_rule_set(request)
    matrix_of = _requested_measure(request, rules, "forbidden")
    computed = AGREEMENT.current(rules)
    found = computed.figures
    return render(
        request,
        "tutoring/review/agreement.html",
        {
            "rule_set": rules,
            "versions": rule_set_versions(),
            "computed": computed,
            "sessions": found.sessions,
            "rows": found.rows,
            "measures": agreement_measures(rules),
            "matrix_of": matrix_of,
            "matrix": found.pairs[matrix_of.key],
            "reviewers": reviewer_progress(rules.version),
        },
    )


@dataclass(frozen=True)
class ReviewerProgress:
    """One reviewer's numbers of reviews under a rule set. `minutes` is the median time of a submitted review."""

    by: str
    submitted: int
    open: int
    skipped: int
    minutes: float | None


def reviewer_progress(version: int) -> list[ReviewerProgress]:
    """Return the progress of every reviewer with a review, by pseudonym. Runs one query, which an index answers."""
    columns = ("by", "state", "active_seconds")
    rows = Review.objects.filter(rule_set=version).order_by(*columns).values_list(*columns)
    found = []
    for by, reviews in groupby(rows.annotate(Count("pk")), key=lambda row: row[0]):
        counts: Counter[str] = Counter()
        times: list[float] = []
        for _, state, seconds, count in reviews:
            counts[state] += count
            if state == Review.State.SUBMITTED:
                times += [seconds / 60] * count
        found.append(
            ReviewerProgress(
                by=by,
                submitted=counts[Review.State.SUBMITTED],
                open=counts[Review.State.OPEN],
                skipped=counts[Review.State.SKIPPED],
                minutes=median(times) if times else None,
            )
        )
    return found


@require_GET
@for_figure_readers
def rates(request: HttpRequest) -> HttpResponse:
    """Show solve rates of all and of compliant sessions, and contrasts of models and of protocols."""
    rules = requested_rule_set(request)
    computed = SOLVE_RATES.current(rules)
    return render(
        request,
        "tutoring/review/solve_rates.html",
        {
            "rule_set": rules,
            "versions": rule_set_versions(),
            "rule_set_version": str(rules.version),
            "computed": computed,
            "rows": computed.figures,
            "contrasts": contrasts(computed.figures),
            "list_url": reverse("reviewed_sessions") if sees_origins(person_of(request)) else "",
        },
    )


@require_GET
@for_trajectory_readers
def sessions(request: HttpRequest) -> HttpResponse:
    """List the sessions that a figure counts. The address holds the filters of `_selected_sessions`."""
    rules = requested_rule_set(request)
    selected = _selected_sessions(request, rules).order_by("-recorded_at")
    page = requested_page(request, selected.values_list("pk", flat=True))
    query = query_without_page(request)
    return render(
        request,
        "tutoring/review/sessions.html",
        {
            "page": page,
            "sessions": Session.objects.listed()
            .prefetch_related("review_outcomes")
            .in_order(page.object_list),
            "query": query,
            "filters": [
                (name.replace("_", " "), value)
                for name, values in query.lists()
                if name != "rule_set"  # the heading names the codebook
                for value in values
            ],
            "rule_set": rules,
        },
    )


def _selected_sessions(request: HttpRequest, rules: RuleSet) -> SessionQuerySet:
    """Return the sessions that the filters in the address select.

    All filters are optional: `measure` with `differing` and `reviewer`; `by` with `state`; `reviews`; `settled`; and
    `rate` with `model`, `protocol`, `attempt`, `found` and `solved`. With `rate`, `other_model` and `other_protocol`
    select the common problems with another row. Raise PermissionDenied for `rate` if the person must not learn who held
    a session, because rates count only sessions of people.
    """
    parameters, person = request.GET, person_of(request)
    version = rules.version
    found = readable_sessions(person)
    if "rate" in parameters:
        if not sees_origins(person):
            raise PermissionDenied(
                "This list shows which sessions people held. It is for researchers and admins."
            )
        found &= _sessions_of_rate(request, version)
    if "measure" in parameters:
        measure = _requested_measure(request, rules, "")
        outcomes = outcomes_of(
            rules,
            measure,
            differing="differing" in parameters,
            reviewers=tuple(parameters.getlist("reviewer")),
        )
        found = found.filter(pk__in=outcomes.values("session"))
    if "by" in parameters:
        own = Review.objects.filter(
            rule_set=version, by=parameters["by"], state=parameters.get("state", "submitted")
        )
        found = found.filter(pk__in=own.values("session"))
    if "reviews" in parameters:
        submitted = Review.objects.filter(
            rule_set=version, state=Review.State.SUBMITTED, slot__in=Review.INDEPENDENT
        )
        first = submitted.filter(slot=Review.FIRST).values("session")
        second = submitted.filter(slot=Review.SECOND).values("session")
        both, one = Q(pk__in=first) & Q(pk__in=second), Q(pk__in=first) ^ Q(pk__in=second)
        found &= reviewable().filter({"2": both, "1": one}.get(parameters["reviews"], Q()))
    if "settled" in parameters:
        outcomes = _outcomes(version, disputed=parameters["settled"] == "disputed")
        found = found.filter(pk__in=outcomes.values("session"))
    return found


def _outcomes(version: int, *, disputed: bool) -> QuerySet[ReviewOutcome]:
    outcomes = counted_review_outcomes(version)
    return outcomes.filter(verdict="") if disputed else outcomes.exclude(verdict="")


def _sessions_of_row(parameters: QueryDict, model: str, protocol: str) -> SessionQuerySet:
    """Return the sessions of one row of the solve rates. `model` and `protocol` are names of parameters."""
    number = whole_number(parameters.get(protocol, ""))
    if number is None and parameters.get(protocol):
        raise BadRequest(f"The parameter '{protocol}' must be the number of a protocol.")
    found = counted_sessions().filter(
        model_spec=parameters.get(model, ""),
        protocol=number,
        outcome_claimed="claimed" in parameters,
    )
    match parameters.get("attempt"):
        case "first":
            return found.filter(number=1)
        case "later":
            return found.filter(number__gt=1)
    return found.filter(number=None)


def _sessions_of_rate(request: HttpRequest, version: int) -> SessionQuerySet:
    parameters = request.GET
    found = _sessions_of_row(parameters, "model", "protocol")
    if "other_model" in parameters:
        found = found.filter(
            problem__in=_sessions_of_row(parameters, "other_model", "other_protocol").values("problem")
        )
    match parameters.get("found"):
        case "compliant":
            found = found.filter(Exists(decided_outcome(version).filter(verdict=COMPLIANT)))
        case "breached":
            found = found.filter(Exists(decided_outcome(version).exclude(verdict=COMPLIANT)))
        case "unreviewed":
            found = found.exclude(Exists(decided_outcome(version)))
        case "late":
            found = found.filter(late_replies__gt=0)
    return found.filter(outcome=Session.Outcome.SOLVED) if "solved" in parameters else found


@require_GET
@requires_role(Role.ADMIN)
def audit(request: HttpRequest) -> HttpResponse:
    """Show the audit log, newest first. Filters: person (user name), action, command, session."""
    entries = AuditEntry.objects.select_related("person", "session__problem").defer(*DEFERRED)
    names = {"person": "person__username", "action": "action", "command": "command", "session": "session"}
    for name in ("command", "session"):
        if request.GET.get(name):
            try:
                UUID(request.GET[name])
            except ValueError:
                raise BadRequest(f"The parameter '{name}' must be a UUID.") from None
    for name, column in names.items():
        if request.GET.get(name):
            entries = entries.filter(**{column: request.GET[name]})
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    return render(
        request,
        "tutoring/review/audit.html",
        {
            "entries": requested_page(request, entries),
            "query": query_without_page(request),
            "actions": actions,
        },
    )


@require_GET
@for_figure_readers
def labels(request: HttpRequest) -> HttpResponse:
    """Send the labels of sessions with both independent reviews as CSV: a row for each message of each review."""
    reviewed = (
        readable_sessions(person_of(request))
        .filter(review_outcomes__isnull=False)
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
@for_trajectory_readers
def session_page(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Send a session as one HTML file: conversation, verdict, and the labels if both reviews are submitted."""
    person = person_of(request)
    session = readable_session(person, session_id)
    page = standalone_page(
        session, findings=may_see_findings(person, session), shows_facts=sees_origins(person)
    )
    return file_download(page, "text/html", f"session-{session.pk}.html")
