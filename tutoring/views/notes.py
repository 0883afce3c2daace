"""The command that saves a tutor's private note on a problem."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.roles import Role, requires_role
from benchmark.models import Problem
from tutoring.models import PrivateNote
from tutoring.views.requests import person_of, refusal, text_field

MAXIMUM_NOTE = 100_000
"""Characters of one note. A longer one is refused, never truncated."""


@require_POST
@requires_role(Role.TUTOR)
def save_note(request: HttpRequest, problem_id: int) -> HttpResponse:
    """Save the note of this person on the problem. Field: text. The last save wins."""
    problem = get_object_or_404(Problem.objects.only("dataset", "external_id"), pk=problem_id)
    text = text_field(request, "text")
    by_script = request.headers.get("Accept") == "application/json"
    if len(text) > MAXIMUM_NOTE:
        fault = f"A note has at most {MAXIMUM_NOTE:,} characters; this one has {len(text):,}."
        if by_script:
            return refusal(fault, 400)
        raise BadRequest(fault)
    PrivateNote.objects.update_or_create(person=person_of(request), problem=problem, defaults={"text": text})
    return JsonResponse({"accepted": True}) if by_script else redirect(problem)
