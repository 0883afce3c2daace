"""Template tags of tutoring, such as the form that starts a session on the page of a problem."""

from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from benchmark.model_calls import catalogue
from benchmark.models import Problem
from benchmark.providers import is_scripted
from benchmark.rendering import text_diff
from tutoring.actions import has_scripted_student
from tutoring.models import Session
from tutoring.protocols import current_protocols, rules_of
from tutoring.sessions.assignments import closed_by_study
from tutoring.sessions.conversation import SessionStatus, status_for_tutor

register = template.Library()


@register.filter
def as_tutor(session: Session) -> SessionStatus:
    """Return the status of a session as its tutor may see it: `{{ session|as_tutor }}`."""
    return status_for_tutor(session)


@register.filter
def changed_into(draft: str, sent: str) -> SafeString:
    """Return the deleted and inserted words as HTML: `{{ draft|changed_into:sent }}`."""
    return mark_safe(text_diff(draft, sent))  # noqa: S308  (each word is escaped)


@register.inclusion_tag("tutoring/_start_session.html", takes_context=True)
def start_session_form(context: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return the context of `{% start_session_form problem %}`, with the protocols that can be started."""
    scripted = is_scripted(catalogue.session_spec(context["user"]))
    protocols = current_protocols()
    if scripted:
        knows = has_scripted_student(problem)
        protocols = [protocol for protocol in protocols if knows and rules_of(protocol).language == "python"]
    sessions = list(
        Session.objects.filter(problem=problem, tutor_id=context["user"].pk)
        .select_related("protocol")
        .order_by("number")
    )
    return {
        "problem": problem,
        "protocols": protocols,
        "scripted": scripted,
        "in_study": closed_by_study(context["user"], problem),
        "sessions": sessions,
        "open_session": next(
            (session for session in sessions if session.state != Session.State.CLOSED), None
        ),
        "csrf_token": context["csrf_token"],
    }
