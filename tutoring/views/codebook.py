"""The page of the codebook, and the check of a draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.checks import model_checker
from tutoring.checks.checking import CheckDraft
from tutoring.checks.draft_checker import PendingQuestion
from tutoring.checks.level_cap import LEVEL_CAP, LEVEL_CAP_TITLE
from tutoring.rules import Detection, UnknownRuleSetError, current_rule_set, rule_set, rule_set_versions
from tutoring.views.requests import command, intended_level, person_of, text_field


@require_GET
@requires_role(*Role)
def codebook(request: HttpRequest, version: int | None = None) -> HttpResponse:
    """Show a version of the rule set, the current one by default."""
    try:
        shown = current_rule_set() if version is None else rule_set(version)
    except UnknownRuleSetError as unknown:
        raise Http404(str(unknown)) from None
    return render(
        request, "tutoring/codebook.html", {"rule_set": shown, "versions": rule_set_versions()[::-1]}
    )


@command
def check_draft(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the passages of a draft that may break the rules. Fields: text, level. Offsets count UTF-16 units."""
    check = _check_of(request, session_id)
    return JsonResponse({"accepted": True, "findings": _findings(check.text, check.execute())})


@command
def check_draft_with_model(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the passages that the checker model finds in a draft. Fields: text, level, question.

    Until the model has answered, `findings` is null and `question` identifies the open question. The page repeats the
    request with this value until there is an answer, for 3 seconds at most.
    """
    check = _check_of(request, session_id)
    basis = text_field(request, "question")
    found = check.model_findings(PendingQuestion(basis) if basis else None)
    if isinstance(found, PendingQuestion):
        return JsonResponse({"accepted": True, "findings": None, "question": found.basis})
    return JsonResponse({"accepted": True, "findings": _findings(check.text, found)})


def _check_of(request: HttpRequest, session_id: UUID) -> CheckDraft:
    return CheckDraft(session_id, person_of(request), text_field(request, "text"), intended_level(request))


def _findings(text: str, detections: Sequence[Detection]) -> list[dict[str, Any]]:
    titles = {clause.code: clause.title for clause in current_rule_set().clauses} | {
        LEVEL_CAP: LEVEL_CAP_TITLE
    }
    return [
        {
            "clause": detection.clause,
            "title": titles[detection.clause],
            "start": _utf16(text[: detection.start]),
            "end": _utf16(text[: detection.end]),
            "explanation": detection.explanation,
            "severity": detection.severity,
            "by_model": detection.detector == model_checker.NAME,
        }
        for detection in detections
    ]


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
