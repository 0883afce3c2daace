"""The page of the codebook, and the check of a draft."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from tutoring.checks.checking import CheckDraft
from tutoring.checks.level_cap import LEVEL_CAP, LEVEL_CAP_TITLE
from tutoring.rules import UnknownRuleSetError, current_rule_set, rule_set, rule_set_versions
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
    text = text_field(request, "text")
    detections = CheckDraft(session_id, person_of(request), text, intended_level(request)).execute()
    titles = {clause.code: clause.title for clause in current_rule_set().clauses} | {
        LEVEL_CAP: LEVEL_CAP_TITLE
    }
    findings = [
        {
            "clause": detection.clause,
            "title": titles[detection.clause],
            "start": _utf16(text[: detection.start]),
            "end": _utf16(text[: detection.end]),
            "explanation": detection.explanation,
            "severity": detection.severity,
        }
        for detection in detections
    ]
    return JsonResponse({"accepted": True, "findings": findings})


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
