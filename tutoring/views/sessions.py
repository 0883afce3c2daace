"""The tutor's pages, and the commands they send.

Each command is a POST that calls one action. A page script asks for JSON and gets the refusal as text; a
plain form gets it as a message on the page it came from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import cast, get_args
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.paginator import Paginator
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_POST

from accounts.roles import Role, has_role, requires_role
from benchmark.models import Problem
from benchmark.rendering import render_markdown
from tutoring.actions import (
    AbandonReason,
    AcceptConsent,
    AskAgain,
    CloseSession,
    ConsentMissing,
    DraftChanged,
    Execute,
    SaveDraft,
    SendMessage,
    StartSession,
    StopReply,
)
from tutoring.actions.messages import PRACTICE_STUDENT, Mode
from tutoring.models import Protocol, Session
from tutoring.protocols import consent_hash, rules_of
from tutoring.sessions.conversation import TutorView, session_for_tutor, tutor_view
from tutoring.sessions.session_action import Refused

logger = logging.getLogger(__name__)

NOT_STORED = (
    "The server cannot store anything now ({fault}). Nothing that you typed is lost. Tell the operator, and try again "
    "in a moment."
)

PAGE = 50
"""Rows of a list page."""


def person_of(request: HttpRequest) -> User:
    """The logged-in person; LoginRequiredMiddleware lets nobody else reach a view."""
    assert isinstance(request.user, User)
    return request.user


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Where each role starts: tutors at the problems, reviewers and researchers at the trajectories."""
    if has_role(request.user, Role.TUTOR):
        return redirect("problems")
    if has_role(request.user, Role.REVIEWER, Role.ADJUDICATOR, Role.RESEARCHER):
        return redirect("trajectories")
    raise PermissionDenied("Your account has no role yet. Ask an admin to give it one.")


@require_GET
@requires_role(Role.TUTOR)
def session_list(request: HttpRequest) -> HttpResponse:
    """The tutor's own sessions, newest first."""
    sessions = Session.objects.listed().filter(tutor=person_of(request))
    page = Paginator(sessions, PAGE).get_page(request.GET.get("page"))
    return render(request, "tutoring/session_list.html", {"sessions": page})


@require_GET
@requires_role(Role.TUTOR)
def session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The workspace: problem, conversation, program, budget."""
    try:
        found = session_for_tutor(session_id, person_of(request).pk)
    except Session.DoesNotExist:
        raise Http404("You have no such session.") from None
    view = tutor_view(found)
    context = {
        "view": view,
        "reasons": AbandonReason.choices,
        # The debrief is out of protocol: its field is shown to who asks for it.
        "composing": view.standing.state == Session.State.OPEN or view.debriefing or "debrief" in request.GET,
    }
    return render(request, "tutoring/session.html", context)


def render_status(view: TutorView) -> str:
    """The part of the session page that says what is left and what may be done; also sent by socket."""
    return render_to_string("tutoring/_status.html", {"view": view})


def command(view: Callable[..., HttpResponse | None]) -> Callable[..., HttpResponseBase]:
    """Turn a function that carries out an action into a POST view with one way to answer.

    A function that has more to say than that the action was carried out returns the response itself.
    """

    @require_POST
    @requires_role(Role.TUTOR)
    @wraps(view)
    def answer(request: HttpRequest, session_id: UUID) -> HttpResponse:
        as_json = request.headers.get("Accept") == "application/json"
        try:
            response = view(request, session_id)
        except Session.DoesNotExist:
            if as_json:
                return JsonResponse({"accepted": False, "message": "You have no such session."}, status=404)
            raise Http404("You have no such session.") from None
        except BadRequest as malformed:
            if as_json:
                return JsonResponse({"accepted": False, "message": str(malformed)}, status=400)
            raise
        except OperationalError as fault:
            if not as_json:
                raise
            logger.error("a command could not be stored: %s", fault)  # on a full disk a line is enough
            return JsonResponse({"accepted": False, "message": NOT_STORED.format(fault=fault)}, status=503)
        except Refused as refused:
            if as_json:
                return JsonResponse({"accepted": False, "message": str(refused)}, status=409)
            messages.error(request, str(refused))
            return redirect("session", session_id=session_id)
        if response is not None:
            return response
        if as_json:
            return JsonResponse({"accepted": True})
        return redirect("session", session_id=session_id)

    return answer


def text_field(request: HttpRequest, name: str) -> str:
    """What the person typed, with plain line ends. Raises BadRequest for what no database can store."""
    text = request.POST.get(name, "")
    if "\0" in text:
        raise BadRequest(f"The field '{name}' holds a NUL character, which cannot be stored. Remove it.")
    return text.replace("\r\n", "\n")


def command_id(request: HttpRequest) -> UUID:
    """The command's id from the form. Raises BadRequest when the page sent none."""
    try:
        return UUID(request.POST["command"])
    except (KeyError, ValueError):
        raise BadRequest("The field 'command' must hold a UUID made by the page.") from None


def number_field(request: HttpRequest, name: str, default: str = "") -> int:
    """A whole number that the page has put into the form. Raises BadRequest for anything else."""
    try:
        return int(request.POST.get(name, default))
    except ValueError:
        raise BadRequest(f"The field '{name}' must hold a whole number.") from None


@require_POST
@requires_role(Role.TUTOR)
def start_session(request: HttpRequest) -> HttpResponse:
    """Fields: problem, protocol (primary keys); training, where the model is to be the practice student; and once
    consent, the version of the text that is agreed to."""
    problem = get_object_or_404(
        Problem.objects.select_related("dataset"), pk=number_field(request, "problem")
    )
    protocol = get_object_or_404(Protocol, pk=number_field(request, "protocol"))
    try:
        if text_hash := request.POST.get("consent"):
            AcceptConsent(person_of(request), protocol, text_hash).execute()
        model = PRACTICE_STUDENT if "training" in request.POST else settings.TUTORING_MODEL
        started = StartSession(person_of(request), problem, protocol, model).execute()
    except ConsentMissing:
        return _ask_for_consent(request, problem, protocol)
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect(problem)
    return redirect(started)


def _ask_for_consent(request: HttpRequest, problem: Problem, protocol: Protocol) -> HttpResponse:
    """The page that asks, before the first session under a protocol or after its text has changed."""
    rules = rules_of(protocol)
    context = {
        "problem": problem,
        "protocol": protocol,
        "text": render_markdown(rules.consent),
        "text_hash": consent_hash(rules),
        "training": "training" in request.POST,
    }
    return render(request, "tutoring/consent.html", context)


@command
def send_message(request: HttpRequest, session_id: UUID) -> None:
    """Fields: command, mode (talk, code or debrief), text, draft (the revision that the page had read)."""
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
    ).execute()


@command
def ask_again(request: HttpRequest, session_id: UUID) -> None:
    """Field: command."""
    AskAgain(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def stop_reply(request: HttpRequest, session_id: UUID) -> None:
    """Fields: command, reply (its number)."""
    StopReply(
        session_id=session_id,
        person=person_of(request),
        command=command_id(request),
        reply_id=number_field(request, "reply"),
    ).execute()


@command
def execute(request: HttpRequest, session_id: UUID) -> None:
    """Field: command."""
    Execute(session_id=session_id, person=person_of(request), command=command_id(request)).execute()


@command
def close_session(request: HttpRequest, session_id: UUID) -> None:
    """Fields: command, why (of the list), reason (in words)."""
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
    """Fields: text, revision (of the draft that the page had read). Answers with the new one or the other text."""
    text, revision = text_field(request, "text"), number_field(request, "revision", default="0")
    try:
        saved = SaveDraft(session_id, person_of(request), text, revision).execute()
    except DraftChanged as changed:
        other = {"text": changed.draft.text, "revision": changed.draft.revision}
        return JsonResponse({"accepted": False, "message": str(changed), "draft": other}, status=409)
    return JsonResponse({"accepted": True, "revision": saved})
