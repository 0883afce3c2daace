"""The tutor's part of a study: the button for the next session, and the report that something is wrong."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from accounts.roles import Role, requires_role
from benchmark.rendering import render_markdown
from tutoring.actions import AcceptConsent, ConsentMissingError
from tutoring.models import Assignment, Study
from tutoring.protocols import consent_hash, rules_of
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import OfferNext, ReportProblem, StartAssigned
from tutoring.views.requests import command, command_id, person_of, text_field


@require_POST
@requires_role(Role.TUTOR)
def next_session(request: HttpRequest) -> HttpResponse:
    """Start the tutor's next session of a study, or return to the one that is open.

    Field: consent, the version of the consent text that the tutor accepts, if it is not accepted yet.
    """
    person = person_of(request)
    offered = OfferNext(person).execute()
    if offered is None:
        messages.info(
            request, "There is no session for you now. You have held all of yours, or the study has ended."
        )
        return redirect("sessions")
    try:
        protocol = offered.arm.protocol
        if protocol is not None and (text_hash := request.POST.get("consent")):
            AcceptConsent(person, protocol, text_hash).execute()
        return redirect(StartAssigned(person, offered.pk).execute())
    except ConsentMissingError:
        return _request_consent(request, offered)
    except Study.DoesNotExist:
        raise Http404("You have no such session.") from None
    except RefusedError as refused:
        messages.error(request, str(refused))
        return redirect("sessions")


def _request_consent(request: HttpRequest, offered: Assignment) -> HttpResponse:
    protocol = offered.arm.protocol
    assert protocol is not None
    rules = rules_of(protocol)
    context = {
        "problem": offered.problem,
        "protocol": protocol,
        "text": render_markdown(rules.consent),
        "text_hash": consent_hash(rules),
        "expires_at": offered.expires_at,
        "retention_days": settings.RETENTION_DAYS,
    }
    return render(request, "tutoring/studies/consent.html", context)


REPORTED = "Thank you. An admin reads your report. You can continue, or close the session."


@command
def report_problem(request: HttpRequest, session_id: UUID) -> HttpResponse | None:
    """Report that something is wrong in a session. Fields: command, about (one of ReportProblem.ABOUT), text."""
    ReportProblem(
        person_of(request),
        session_id,
        request.POST.get("about", ""),
        text_field(request, "text"),
        command_id(request),
    ).execute()
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"accepted": True, "message": REPORTED})
    messages.success(request, REPORTED)
    return None
