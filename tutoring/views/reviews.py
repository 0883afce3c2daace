"""Pages of reviewers: the queue, the review page, the comparison of reviews, and their commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, ObjectDoesNotExist
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role, roles_of
from benchmark.text.numbers import whole_number
from tutoring.checks.findings import may_see_findings
from tutoring.models import Flag, Review, ReviewOutcome, Session
from tutoring.protocols import recorded_rules, verdict_rule
from tutoring.replay.applicability import waiting_for as waiting_for_label
from tutoring.review.actions import (
    Adjudicate,
    AnswerFlag,
    Assign,
    ClaimNext,
    RaiseFlag,
    SaveReview,
    Skip,
    SubmitReview,
    Withdraw,
    claimed_review,
)
from tutoring.review.content import (
    GUESSES,
    WORST_MISSING,
    Content,
    MalformedContentError,
    labelled_messages,
    read_form,
)
from tutoring.review.records import complete_reviews
from tutoring.review.slots import (
    ORIGINS,
    count_by_origin,
    count_for_review,
    waiting_for_adjudication,
)
from tutoring.rules import current_rule_set, rule_set
from tutoring.sessions.assignments import is_of_blind_study
from tutoring.sessions.context import RefusedError
from tutoring.trajectories.trajectory import readable_session, sees_origins
from tutoring.views.requests import command_id, person_of, text_field
from tutoring.views.review_pages import DEFERRED, chips, read_with_reviews
from tutoring.views.review_requests import (
    for_reviewers,
    for_trajectory_readers,
    people_with,
    requested_origins,
    requested_page,
)

DONE_PAGE_SIZE = 20
"""Own submitted reviews on a page of the queue."""

REVIEWING = (Role.REVIEWER, Role.ADJUDICATOR)


@require_GET
@for_reviewers
def queue(request: HttpRequest) -> HttpResponse:
    """Show the queue: sessions to review, the person's open and submitted reviews, and the overall progress.

    Query: origin (people, automatic or all; default: people), session (an id for the form of assignments), done (page
    of the own submitted reviews), page (of the assigned reviews).
    """
    person, now, version = person_of(request), timezone.now(), current_rule_set().version
    own = (
        Review.objects.filter(reviewer=person).select_related("session__problem").defer("content", *DEFERRED)
    )
    roles, origins = roles_of(person), requested_origins(request.GET)
    of_blind_study = is_of_blind_study()
    found = count_for_review(person, version, now, of_blind_study)
    waiting = found.waiting if Role.REVIEWER in roles else None
    disputed = None
    if Role.ADJUDICATOR in roles:
        disputed = count_by_origin(waiting_for_adjudication(person, version, now), of_blind_study)
    return render(
        request,
        "tutoring/review/queue.html",
        {
            "rule_set": current_rule_set(),
            "begun": own.filter(
                state=Review.State.OPEN, session__invalidated=False, rule_set=version
            ).order_by("opened_at"),
            "done": requested_page(
                request,
                own.filter(state=Review.State.SUBMITTED).order_by("-submitted_at"),
                "done",
                DONE_PAGE_SIZE,
            ),
            "done_query": query_without_page(request, "done"),
            "origins": origins,
            "queues": [
                (name, sum(getattr(counts, name) for counts in (waiting, disputed) if counts))
                for name in ORIGINS
            ],
            "waiting": waiting and getattr(waiting, origins),
            "disputed": disputed and getattr(disputed, origins),
            "progress": {"sessions": found.sessions, **progress(version)},
            "hints": waiting_for_label(person).count(),
            **(_for_admins(request, version) if Role.ADMIN in roles else {}),
        },
    )


def _for_admins(request: HttpRequest, version: int) -> dict[str, object]:
    """Return the open flags, a page of the assignments, and the people to whom sessions can be assigned."""
    assigned = Review.objects.filter(
        state=Review.State.OPEN, assigned_by__isnull=False, session__invalidated=False, rule_set=version
    ).select_related("reviewer", "session__problem")
    flags = Flag.objects.filter(answered_at=None).select_related("raised_by", "session__problem")
    return {
        "flags": flags.defer(*DEFERRED),
        "assigned": requested_page(request, assigned.defer(*DEFERRED).order_by("lease_until", "pk")),
        "query": query_without_page(request),
        "people": people_with(Role.REVIEWER, Role.ADJUDICATOR),
    }


def progress(version: int) -> dict[str, int]:
    """Return the numbers of sessions by number of reviews under a rule set. Runs two queries.

    Only closed sessions have reviews.
    """
    invalidated = Session.objects.filter(invalidated=True).values("pk")
    submitted = Review.objects.filter(
        rule_set=version, state=Review.State.SUBMITTED, slot__in=Review.INDEPENDENT
    ).exclude(session__in=invalidated)
    counted = ReviewOutcome.objects.filter(rule_set=version).exclude(session__in=invalidated)
    outcomes = counted.aggregate(
        settled=Count("session", filter=~Q(verdict="")), disputed=Count("session", filter=Q(verdict=""))
    )
    two = outcomes["settled"] + outcomes["disputed"]  # every session with both reviews has an outcome
    return {"one": submitted.count() - 2 * two, "two": two, **outcomes}


@require_GET
@for_reviewers
def review(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """Show the person's own review: the form of an open one, a submitted one with the automatic findings, or the state.

    Query: origin (that of the queue to which the page leads back).
    """
    found = get_object_or_404(
        Review.objects.select_related("session__problem__dataset", "session__protocol", "session__judgement"),
        pk=review_id,
        reviewer=person_of(request),
    )
    session, rules, origins = found.session, rule_set(found.rule_set), requested_origins(request.GET)
    if found.state in (Review.State.SKIPPED, Review.State.WITHDRAWN):
        return render(request, "tutoring/review/ended.html", {"review": found, "origins": origins})
    if found.state == Review.State.SUBMITTED:
        reading = read_with_reviews(session, [found], findings=True)
        complete = found.rule_set in complete_reviews(session)
        return render(
            request,
            "tutoring/review/reading.html",
            {
                "reading": reading,
                "rule_set": rules,
                "own": found,
                "complete": complete,
                "origins": origins,
                "shows_facts": sees_origins(person_of(request)),
            },
        )
    independent: list[Review] = []
    if found.adjudicates:
        independent = list(
            session.reviews.filter(
                rule_set=found.rule_set, slot__in=Review.INDEPENDENT, state=Review.State.SUBMITTED
            ).order_by("slot")
        )
    content = Content.from_json(found.content)
    return render(
        request,
        "tutoring/review/review.html",
        {
            "review": found,
            "reading": read_with_reviews(session, independent, findings=found.findings_first, draft=content),
            "content": content,
            "rule_set": rules,
            "chips": chips(rules),
            "verdict_rule": verdict_rule(recorded_rules(session)),
            "worst_missing": WORST_MISSING,
            "guesses": GUESSES,
            "origins": origins,
        },
    )


def _address_after_refusal(request: HttpRequest, keywords: dict[str, UUID | int], page: str) -> str:
    if "review_id" in keywords:
        return reverse("review", kwargs=keywords)
    query = request.GET.urlencode()
    return f"{reverse(page)}?{query}" if query else reverse(page)


def _in_same_queue(request: HttpRequest, address: str) -> str:
    """Return the address with the origin of the queue that the form names, if it names one."""
    origin = request.POST.get("origin")
    return f"{address}?origin={origin}" if origin in ORIGINS else address


def command(
    *roles: Role, page: str = "review_queue"
) -> Callable[[Callable[..., str]], Callable[..., HttpResponseBase]]:
    """Turn a function that executes an action and returns the next address into a POST view for these roles.

    A script that accepts JSON gets the address or the refusal as JSON. A plain form is redirected. After a refusal, the
    address is that of the review, if the command has one, else of `page` with the query of the command. The field
    `origin` of the form stays in the address, so that the reviewer returns to the same queue.
    """

    def decorate(view: Callable[..., str]) -> Callable[..., HttpResponseBase]:
        @require_POST
        @requires_role(*roles)
        @wraps(view)
        def respond(request: HttpRequest, **keywords: UUID | int) -> HttpResponse:
            as_json = request.headers.get("Accept") == "application/json"
            refusal, status = "", 200
            address = _address_after_refusal(request, keywords, page)
            try:
                address = resolve_url(view(request, **keywords))
            except ObjectDoesNotExist:
                refusal, status = "You have no such review.", 404
            except (BadRequest, MalformedContentError) as malformed:
                refusal, status = str(malformed), 400
            except RefusedError as refused:
                refusal, status = str(refused), 409
            address = _in_same_queue(request, address)
            if as_json:
                response = {"accepted": not refusal, "message": refusal, "address": address}
                return JsonResponse(response, status=status)
            if status == 404:
                raise Http404(refusal)
            if status == 400:
                raise BadRequest(refusal)
            if refusal:
                messages.error(request, refusal)
            return redirect(address)

        return respond

    return decorate


@command(*REVIEWING)
def claim_next(request: HttpRequest) -> str:
    """Claim the next session. Fields: command, kind (review or adjudication), origin (as for the queue)."""
    adjudicates = request.POST.get("kind") == "adjudication"
    person, origins = person_of(request), requested_origins(request.POST)
    ClaimNext(person=person, command=command_id(request), adjudicates=adjudicates, origins=origins).execute()
    claimed = claimed_review(person, adjudicates)
    return claimed.get_absolute_url() if claimed else "review_queue"


@command(Role.ADMIN)
def assign(request: HttpRequest) -> str:
    """Assign a session. Fields: command, session (its id), reviewer (user name)."""
    try:
        session_id = UUID(request.POST.get("session", "").strip())
    except ValueError:
        raise RefusedError("Enter the id of the session, which the page of its trajectory shows.") from None
    reviewer = User.objects.filter(username=request.POST.get("reviewer", ""), is_active=True).first()
    if reviewer is None:
        raise RefusedError("There is no active account with this user name.")
    if not Session.objects.filter(pk=session_id).exists():
        raise RefusedError(f"There is no session {session_id}.")
    Assign(
        person=person_of(request), command=command_id(request), session_id=session_id, reviewer=reviewer
    ).execute()
    messages.success(request, f"The session is assigned to {reviewer.get_username()}.")
    return "review_queue"


def _with_text(
    action: type[AnswerFlag | Skip | RaiseFlag | Withdraw],
    field: str,
    roles: tuple[Role, ...],
    *,
    leaves_review: bool,
    success: str = "",
) -> Callable[..., HttpResponseBase]:
    """Return the view of an action with one text. Fields: command, and the text.

    After the action, the view shows the queue with `leaves_review`, otherwise the review.
    """

    def perform(request: HttpRequest, **keywords: Any) -> str:
        text: dict[str, Any] = {field: text_field(request, field)}
        action(person=person_of(request), command=command_id(request), **keywords, **text).execute()
        if success:
            messages.success(request, success)
        return "review_queue" if leaves_review else reverse("review", kwargs=keywords)

    return command(*roles)(perform)


_WITHDRAWN = "The assignment is withdrawn. Other reviewers can get the session."

skip = _with_text(Skip, "reason", REVIEWING, leaves_review=True)
flag = _with_text(
    RaiseFlag, "reason", REVIEWING, leaves_review=False, success="The admins can see your flag."
)
answer_flag = _with_text(AnswerFlag, "answer", (Role.ADMIN,), leaves_review=True)
withdraw = _with_text(
    Withdraw,
    "reason",
    (Role.ADMIN,),
    leaves_review=True,
    success=_WITHDRAWN,
)


@command(*REVIEWING)
def save_draft(request: HttpRequest, review_id: UUID) -> str:
    """Save the draft of a review. Fields: command, and those of tutoring.review.content.read_form."""
    _execute_with_labels(SaveReview, request, review_id)
    return reverse("review", args=[review_id])


@command(*REVIEWING)
def submit(request: HttpRequest, review_id: UUID) -> str:
    """Submit a review. Fields as for the draft, which is saved even if the submission is refused."""
    _execute_with_labels(SaveReview, request, review_id)
    adjudicates = Review.objects.values_list("adjudicates", flat=True).get(pk=review_id)
    _execute_with_labels(Adjudicate if adjudicates else SubmitReview, request, review_id)
    return reverse("review", args=[review_id])


def _execute_with_labels(
    action: type[SaveReview | SubmitReview], request: HttpRequest, review_id: UUID
) -> None:
    """Execute an action on the person's own review with the labels in the form."""
    person = person_of(request)
    found = Review.objects.select_related("session").get(pk=review_id, reviewer=person)
    events, rules = labelled_messages(found.session), rule_set(found.rule_set)
    content = read_form(request.POST, events, rules, adjudicates=found.adjudicates)
    action(person=person, command=command_id(request), review_id=review_id, content=content).execute()


@require_GET
@for_trajectory_readers
def compare(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the reviews of a session side by side. Raise Http404 before both independent reviews are submitted."""
    person = person_of(request)
    session = readable_session(person, session_id)
    complete = complete_reviews(session)
    version = whole_number(request.GET.get("rule_set", ""))
    if version is None:
        version = max(complete, default=0)
    reviews = complete.get(version, [])
    if not reviews:
        raise Http404("This session does not have both independent reviews yet.")
    reading = read_with_reviews(session, reviews, findings=may_see_findings(person, session))
    review_outcome = ReviewOutcome.objects.filter(session=session, rule_set=version).first()
    return render(
        request,
        "tutoring/review/reading.html",
        {
            "reading": reading,
            "rule_set": rule_set(version),
            "review_outcome": review_outcome,
            "shows_facts": sees_origins(person),
        },
    )
