"""The reviewers' pages: the queue, the page on which a session is labelled, and the commands they send."""

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

from accounts.roles import Role, has_role, requires_role, roles_of
from tutoring.models import Flag, Review, Session, ReviewOutcome
from tutoring.review.actions import (
    Adjudicate,
    AnswerFlag,
    Assign,
    ClaimNext,
    RaiseFlag,
    SaveDraft,
    Skip,
    SubmitReview,
    Withdraw,
    claimed_review,
)
from tutoring.review.content import Content, MalformedContentError, labelled_messages, read_form
from tutoring.review.records import complete_reviews
from tutoring.review.slots import reviewable, waiting_for_adjudication, waiting_for_review
from tutoring.rules import current_rule_set, rule_set
from tutoring.sessions.session_action import Refused
from tutoring.trajectories.trajectory import readable_session
from tutoring.views.review_pages import UNREAD, chips, read
from tutoring.views.sessions import PAGE, command_id, person_of, text_field

REVIEWING = (Role.REVIEWER, Role.ADJUDICATOR)
reviewers = requires_role(*REVIEWING)


@require_GET
@reviewers
def queue(request: HttpRequest) -> HttpResponse:
    """What waits for this person, what they have begun and done, and how far the whole work is."""
    person, now, version = person_of(request), timezone.now(), current_rule_set().version
    own = Review.objects.filter(reviewer=person).select_related("session__problem").defer("content", *UNREAD)
    roles = roles_of(person)
    return render(
        request,
        "tutoring/review/queue.html",
        {
            "rule_set": current_rule_set(),
            "begun": own.filter(
                state=Review.State.OPEN, session__invalidated=False, rule_set=version
            ).order_by("opened_at"),
            "done": own.filter(state=Review.State.SUBMITTED).order_by("-submitted_at")[:PAGE],
            "waiting": waiting_for_review(person, version, now).count() if Role.REVIEWER in roles else None,
            "disputed": (
                waiting_for_adjudication(person, version, now).count() if Role.ADJUDICATOR in roles else None
            ),
            "progress": progress(version),
            **(_for_admins(version) if Role.ADMIN in roles else {}),
        },
    )


def _for_admins(version: int) -> dict[str, object]:
    """Open flags and assignments, and the people whom sessions can be assigned to."""
    assigned = Review.objects.filter(
        state=Review.State.OPEN, assigned_by__isnull=False, session__invalidated=False, rule_set=version
    ).select_related("reviewer", "session__problem")
    flags = Flag.objects.filter(answered_at=None).select_related("raised_by", "session__problem")
    able = Q(groups__name__in=[Role.REVIEWER, Role.ADJUDICATOR, Role.ADMIN]) | Q(is_superuser=True)
    people = User.objects.filter(able, is_active=True).distinct().order_by("username")
    return {
        "flags": flags.defer(*UNREAD),
        "assigned": assigned.defer(*UNREAD).order_by("lease_until"),
        "people": people,
    }


def progress(version: int) -> dict[str, int]:
    """How many of the sessions have how many reviews under a rule set. Three queries."""
    counted = Q(session__invalidated=False, session__state=Session.State.CLOSED)
    submitted = Review.objects.filter(
        counted, rule_set=version, state=Review.State.SUBMITTED, slot__in=Review.INDEPENDENT
    )
    review_outcomes = ReviewOutcome.objects.filter(counted, rule_set=version).aggregate(
        settled=Count("pk", filter=~Q(verdict="")), disputed=Count("pk", filter=Q(verdict=""))
    )
    two = review_outcomes["settled"] + review_outcomes["disputed"]  # every session with both has a review_outcome
    return {"sessions": reviewable().count(), "one": submitted.count() - 2 * two, "two": two, **review_outcomes}


@require_GET
@reviewers
def review(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """A person's own review: to be written, or, once submitted, to be read with the automatic findings."""
    found = get_object_or_404(
        Review.objects.select_related("session__problem__dataset", "session__protocol", "session__judgement"),
        pk=review_id,
        reviewer=person_of(request),
    )
    session, rules = found.session, rule_set(found.rule_set)
    if found.state == Review.State.SUBMITTED:
        reading = read(session, [found], findings=True)
        complete = found.rule_set in complete_reviews(session)
        return render(
            request,
            "tutoring/review/reading.html",
            {"reading": reading, "rule_set": rules, "own": found, "complete": complete},
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
            "reading": read(session, independent, findings=found.findings_first, draft=content),
            "content": content,
            "rule_set": rules,
            "chips": chips(rules),
        },
    )


def command(*roles: Role) -> Callable[[Callable[..., str]], Callable[..., HttpResponseBase]]:
    """Turn a function that carries out an action and returns where to go next into a POST view for these roles.

    A page script asks for JSON and gets the address or the refusal; a plain form is redirected.
    """

    def decorate(view: Callable[..., str]) -> Callable[..., HttpResponseBase]:
        @require_POST
        @requires_role(*roles)
        @wraps(view)
        def answer(request: HttpRequest, **keywords: UUID | int) -> HttpResponse:
            as_json = request.headers.get("Accept") == "application/json"
            refusal, status = "", 200
            written = "review_id" in keywords
            address = reverse("review", kwargs=keywords) if written else reverse("review_queue")
            try:
                address = resolve_url(view(request, **keywords))
            except ObjectDoesNotExist:
                refusal, status = "You have no such review.", 404
            except (BadRequest, MalformedContentError) as malformed:
                refusal, status = str(malformed), 400
            except Refused as refused:
                refusal, status = str(refused), 409
            if as_json:
                answered = {"accepted": not refusal, "message": refusal, "address": address}
                return JsonResponse(answered, status=status)
            if status == 404:
                raise Http404(refusal)
            if status == 400:
                raise BadRequest(refusal)
            if refusal:
                messages.error(request, refusal)
            return redirect(address)

        return answer

    return decorate


@command(*REVIEWING)
def claim_next(request: HttpRequest) -> str:
    """Fields: command, kind (review or adjudication)."""
    adjudicates = request.POST.get("kind") == "adjudication"
    person = person_of(request)
    ClaimNext(person=person, command=command_id(request), adjudicates=adjudicates).execute()
    claimed = claimed_review(person, adjudicates)
    return claimed.get_absolute_url() if claimed else "review_queue"


@command(Role.ADMIN)
def assign(request: HttpRequest) -> str:
    """Fields: command, session (its id), reviewer (user name)."""
    try:
        session_id = UUID(request.POST.get("session", "").strip())
    except ValueError:
        raise Refused("The session must be given by its id, as the trajectory's page shows it.") from None
    reviewer = User.objects.filter(username=request.POST.get("reviewer", ""), is_active=True).first()
    if reviewer is None:
        raise Refused("There is no such reviewer.")
    if not Session.objects.filter(pk=session_id).exists():
        raise Refused(f"There is no session {session_id}.")
    Assign(
        person=person_of(request), command=command_id(request), session_id=session_id, reviewer=reviewer
    ).execute()
    messages.success(request, f"{reviewer.get_username()} has the session.")
    return "review_queue"


def _with_text(
    action: type[AnswerFlag | Skip | RaiseFlag | Withdraw],
    field: str,
    roles: tuple[Role, ...],
    *,
    leaves: bool,
    said: str = "",
) -> Callable[..., HttpResponseBase]:
    """A command with one text. Fields: command, and the text. `leaves` says that the review is over with it."""

    def perform(request: HttpRequest, **about: Any) -> str:
        text: dict[str, Any] = {field: text_field(request, field)}
        action(person=person_of(request), command=command_id(request), **about, **text).execute()
        if said:
            messages.success(request, said)
        return "review_queue" if leaves else reverse("review", kwargs=about)

    return command(*roles)(perform)


skip = _with_text(Skip, "reason", REVIEWING, leaves=True)
flag = _with_text(RaiseFlag, "reason", REVIEWING, leaves=False, said="The admins see your flag.")
answer_flag = _with_text(AnswerFlag, "answer", (Role.ADMIN,), leaves=True)
withdraw = _with_text(Withdraw, "reason", (Role.ADMIN,), leaves=True, said="The session is free for others.")


@command(*REVIEWING)
def save_draft(request: HttpRequest, review_id: UUID) -> str:
    """Fields: command, and those of tutoring.review.content.read_form."""
    _send(SaveDraft, request, review_id)
    return reverse("review", args=[review_id])


@command(*REVIEWING)
def submit(request: HttpRequest, review_id: UUID) -> str:
    """Fields as for the draft. What was chosen is kept even where the submission is refused."""
    _send(SaveDraft, request, review_id)
    adjudicates = Review.objects.values_list("adjudicates", flat=True).get(pk=review_id)
    _send(Adjudicate if adjudicates else SubmitReview, request, review_id)
    return reverse("review", args=[review_id])


def _send(action: type[SaveDraft | SubmitReview], request: HttpRequest, review_id: UUID) -> None:
    """Carry out an action on the person's own review with the labels in the form."""
    person = person_of(request)
    found = Review.objects.select_related("session").get(pk=review_id, reviewer=person)
    content = read_form(request.POST, labelled_messages(found.session), rule_set(found.rule_set))
    action(person=person, command=command_id(request), review_id=review_id, content=content).execute()


@require_GET
@requires_role(Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER, Role.ADMIN)
def compare(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The reviews of a session side by side, once both independent ones are in."""
    session = readable_session(person_of(request), session_id)
    complete = complete_reviews(session)
    asked = request.GET.get("rule_set", "")
    version = int(asked) if asked.isdecimal() else max(complete, default=0)
    reviews = complete.get(version, [])
    if not reviews:
        raise Http404("The independent reviews of this session are not both in yet.")
    person = person_of(request)
    sees_findings = has_role(person, Role.RESEARCHER, Role.ADMIN) or any(
        review.reviewer_id == person.pk for review in reviews
    )
    reading = read(session, reviews, findings=sees_findings)
    review_outcome = ReviewOutcome.objects.filter(session=session, rule_set=version).first()
    return render(
        request,
        "tutoring/review/reading.html",
        {"reading": reading, "rule_set": rule_set(version), "review_outcome": review_outcome},
    )
