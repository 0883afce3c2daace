"""Template tags of tutoring, such as the form that starts a session on the page of a problem."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from benchmark.model_calls import catalogue
from benchmark.models import Problem
from benchmark.providers import is_scripted
from benchmark.rendering import text_diff
from tutoring.actions import has_scripted_student, next_number
from tutoring.models import PrivateNote, Protocol, Session
from tutoring.protocols import current_protocols, rules_of
from tutoring.sessions.assignments import closed_by_study, concealed_ids
from tutoring.sessions.conversation import SessionStatus, status_for_tutor
from tutoring.sessions.problem_rows import ProblemRow, unsolved_after

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
def duration(session: Session) -> str:
    """Return the time from the start to the end of a session, or until now, in words: `{{ session|duration }}`."""
    if session.opened_at is None:
        return ""
    seconds = ((session.closed_at or timezone.now()) - session.opened_at).total_seconds()
    minutes = int(max(0.0, seconds) // 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


@register.filter
def changed_into(draft: str, sent: str) -> SafeString:
    """Return the deleted and inserted words as HTML: `{{ draft|changed_into:sent }}`."""
    return mark_safe(text_diff(draft, sent))  # noqa: S308  (each word is escaped)


@register.simple_tag(takes_context=True)
def next_unsolved(context: dict[str, Any], problem: Problem) -> ProblemRow | None:
    """Return the tutor's next unsolved problem of the same dataset: `{% next_unsolved problem as following %}`."""
    return unsolved_after(problem, context["user"])


@register.simple_tag(takes_context=True)
def private_note(context: dict[str, Any], problem: Problem) -> str:
    """Return the text of the visitor's own note on the problem: `{% private_note problem %}`."""
    own = PrivateNote.objects.filter(person=context["user"].pk, problem=problem)
    return own.values_list("text", flat=True).first() or ""


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
        "concealed": concealed_ids(context["user"]),
        "open_session": next(
            (session for session in sessions if session.state != Session.State.CLOSED), None
        ),
        "csrf_token": context["csrf_token"],
    }


def _choices(protocols: list[Protocol], sessions: list[Session]) -> list[ProtocolChoice]:
    """Return the protocols with the number of the next session, given the tutor's sessions with the present model."""
    choices: list[ProtocolChoice] = []
    for protocol in protocols:
        number = next_number(one for one in sessions if one.protocol and one.protocol.name == protocol.name)
        limit = rules_of(protocol).sessions
        first = number <= limit and not any(choice.chosen for choice in choices)
        choices.append(ProtocolChoice(protocol, number, limit, first))
    return choices
