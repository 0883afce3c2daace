"""Template tags of tutoring, such as the form that starts a session on the page of a problem."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from benchmark.model_calls import catalogue
from benchmark.models import Problem
from benchmark.providers import is_scripted
from benchmark.rendering import text_diff
from tutoring.actions import has_scripted_student
from tutoring.models import Protocol, Session
from tutoring.protocols import current_protocols, rules_of
from tutoring.sessions.assignments import closed_by_study
from tutoring.sessions.conversation import SessionStatus, status_for_tutor

register = template.Library()


@dataclass(frozen=True)
class ProtocolChoice:
    """A protocol that a tutor may choose for the next session on a problem."""

    protocol: Protocol
    number: int
    """The number of the next session."""
    limit: int
    """Sessions on a problem that the protocol allows."""
    chosen: bool
    """Whether it is the first protocol under which a session can be started."""

    @property
    def is_used_up(self) -> bool:
        return self.number > self.limit


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
    spec = catalogue.session_spec(context["user"])
    scripted = is_scripted(spec)
    protocols = current_protocols()
    if scripted:
        knows = has_scripted_student(problem)
        protocols = [protocol for protocol in protocols if knows and rules_of(protocol).language == "python"]
    sessions = list(
        Session.objects.filter(problem=problem, tutor_id=context["user"].pk)
        .select_related("protocol")
        .order_by("number")
    )
    choices = _choices(protocols, [one for one in sessions if one.model_spec == str(spec)])
    return {
        "problem": problem,
        "choices": choices,
        "startable": any(choice.chosen for choice in choices),
        "scripted": scripted,
        "in_study": closed_by_study(context["user"], problem),
        "sessions": sessions,
        "open_session": next(
            (session for session in sessions if session.state != Session.State.CLOSED), None
        ),
        "csrf_token": context["csrf_token"],
    }


def _choices(protocols: list[Protocol], sessions: list[Session]) -> list[ProtocolChoice]:
    """Return the protocols with the number of the next session, given the tutor's sessions with the present model."""
    choices: list[ProtocolChoice] = []
    for protocol in protocols:
        number = 1 + sum(one.protocol is not None and one.protocol.name == protocol.name for one in sessions)
        limit = rules_of(protocol).sessions
        first = number <= limit and not any(choice.chosen for choice in choices)
        choices.append(ProtocolChoice(protocol, number, limit, first))
    return choices
