"""The tutor's pages, and the commands they send. Each command is a POST that executes one action."""

from __future__ import annotations

from typing import cast, get_args
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role, has_role, requires_role
from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.models import LanguageModel, Problem
from benchmark.providers import ModelSpecError, Parameters, parse_model_spec
from benchmark.rendering import render_markdown
from tutoring.actions import (
    AcceptConsent,
    AskAgain,
    CloseSession,
    ConsentMissingError,
    DraftChangedError,
    Execute,
    InsertDraft,
    RequestDraft,
    RunSamples,
    SaveUnsentText,
    SendMessage,
    StartSession,
    StopReply,
)
from tutoring.actions.messages import PRACTICE_STUDENT
from tutoring.models import AbandonReason, Protocol, Session
from tutoring.models.payloads import Mode
from tutoring.protocols import consent_hash, rules_of
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import session_for_tutor, tutor_view
from tutoring.training.material import is_training_problem
from tutoring.views.requests import (
    NO_SESSION,
    command,
    command_id,
    intended_level,
    number_field,
    person_of,
    text_field,
)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Redirect tutors to the problems, reviewers and researchers to the trajectories."""
    if has_role(request.user, Role.TUTOR):
        return redirect("problems")
    if has_role(request.user, Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER):
        return redirect("trajectories")
    raise PermissionDenied("Your account has no role yet. Ask an admin to give you one.")


@require_GET
@requires_role(Role.TUTOR)
def session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the workspace: problem, conversation, program, budget."""
    try:
        found = session_for_tutor(session_id, person_of(request).pk)
    except Session.DoesNotExist:
        raise Http404(NO_SESSION) from None
    view = tutor_view(found)
    context = {
        "view": view,
        "session": found,
        "reasons": AbandonReason.choices,
        # The debrief is optional: its field is shown on request.
        "composing": view.status.state == Session.State.OPEN or view.debriefing or "debrief" in request.GET,
    }
    return render(request, "tutoring/session.html", context)


@require_POST
@requires_role(Role.TUTOR)
def start_session(request: HttpRequest) -> HttpResponse:
    """Start a session.

    Fields: problem, protocol (primary keys); training, for the guided session with the practice student; consent, the
    version of the consent text that the tutor accepts, if it is not accepted yet.
    """
    problem = get_object_or_404(
        Problem.objects.select_related("dataset"), pk=number_field(request, "problem"), dataset__known_as=""
    )
    protocol = get_object_or_404(Protocol, pk=number_field(request, "protocol"))
    try:
        if text_hash := request.POST.get("consent"):
            AcceptConsent(person_of(request), protocol, text_hash).execute()
        with transaction.atomic():  # a refused session leaves no row of a model behind
            training = "training" in request.POST and is_training_problem(problem)
            model = _session_model(request, training)
            started = StartSession(person_of(request), problem, protocol, model, training=training).execute()
    except ConsentMissingError:
        return _request_consent(request, problem, protocol)
    except RefusedError as refused:
        messages.error(request, str(refused))
        return redirect(problem)
    return redirect(started)


def _session_model(request: HttpRequest, training: bool) -> LanguageModel:
    """Return the model of the training, or that of the tutor's next session. Raises RefusedError without a model."""
    try:
        if training:
            return catalogue.model_for(parse_model_spec(PRACTICE_STUDENT), Parameters())
        return catalogue.session_model(person_of(request))
    except (CatalogueError, ModelSpecError):
        # The reason names the model, which tutors must not learn. Admins see it on the page of models.
        raise RefusedError("No model is available for sessions now. Please tell an admin.") from None


def _request_consent(request: HttpRequest, problem: Problem, protocol: Protocol) -> HttpResponse:
    """Show the consent text, before the first session under a protocol or after the text has changed."""
    rules = rules_of(protocol)
    context = {
        "problem": problem,
        "protocol": protocol,
        "text": render_markdown(rules.consent),
        "text_hash": consent_hash(rules),
        "training": "training" in request.POST,
        "retention_days": settings.RETENTION_DAYS,
    }
    return render(request, "tutoring/consent.html", context)


@command
def send_message(request: HttpRequest, session_id: UUID) -> None:
    """Send a message.

    Fields: command, mode (talk, code or debrief), text, draft (the revision that the page has), level (of help; absent
    or empty: none).
    """
    mode = request.POST.get("mode")
    if mode not in get_args(Mode):
        raise BadRequest(f"The field 'mode' must be one of: {', '.join(get_args(Mode))}.")
    SendMessage(
        session_id=session_id,
        person=person_of(request),
        command=command_id(request),
        mode=cast(Mode, mode),
        text=text_field(request, "text"),
        draft=number_field(request, "draft", default="0"),
        intended_level=intended_level(request),
    ).execute()


@command
def ask_again(request: HttpRequest, session_id: UUID) -> None:
    """Request another reply after a failed one. Field: command."""
    AskAgain(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def stop_reply(request: HttpRequest, session_id: UUID) -> None:
    """Stop a reply. Fields: command, reply (its primary key)."""
    StopReply(
        session_id=session_id,
        person=person_of(request),
        command=command_id(request),
        reply_id=number_field(request, "reply"),
    ).execute()


@command
def execute(request: HttpRequest, session_id: UUID) -> None:
    """Execute the latest program. Field: command."""
    Execute(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def run_samples(request: HttpRequest, session_id: UUID) -> None:
    """Run the latest program on the samples. Field: command."""
    RunSamples(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def request_draft(request: HttpRequest, session_id: UUID) -> None:
    """Request a draft by the tutor model. Field: command."""
    RequestDraft(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def insert_draft(request: HttpRequest, session_id: UUID) -> None:
    """Record that the page puts the model draft on offer into the message field. Field: command."""
    InsertDraft(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def close_session(request: HttpRequest, session_id: UUID) -> None:
    """Close the session without an execution. Fields: command, why (an AbandonReason), reason (text)."""
    why = request.POST.get("why", AbandonReason.OTHER)
    if why not in AbandonReason:
        raise BadRequest("Choose one of the reasons in the field 'why'.")
    CloseSession(
        session_id=session_id,
        person=person_of(request),
        command=command_id(request),
        why=AbandonReason(why),
        reason=text_field(request, "reason"),
    ).execute()


@command
def save_draft(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Save a draft. Fields: text, revision (of the draft that the page has).

    Respond with the new revision, or with status 409 and the text that was saved elsewhere.
    """
    text, revision = text_field(request, "text"), number_field(request, "revision", default="0")
    try:
        saved = SaveUnsentText(session_id, person_of(request), text, revision).execute()
    except DraftChangedError as changed:
        other = {"text": changed.draft.text, "revision": changed.draft.revision}
        return JsonResponse({"accepted": False, "message": str(changed), "draft": other}, status=409)
    return JsonResponse({"accepted": True, "revision": saved})
