"""Outcomes in the lists of a tutor.

A protocol that hides the verdict hides its outcome here too. A rejudging after the session changes nothing here: the
tutor has seen the former outcome. `tutoring.sessions.conversation.status_for_tutor` decides the same for one session.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, TextChoices, Value, When

from tutoring.models import Protocol, Session
from tutoring.models.sessions import SessionQuerySet


class ProblemStatus(TextChoices):
    """The status of a problem for a tutor."""

    SOLVED = "solved"
    OPEN = "open", "Session open"
    ATTEMPTED = "attempted"
    NEW = "new", "Not started"


class VisibleStatus(TextChoices):
    """State and outcome of a session in one word, as its tutor may see them, open ones first."""

    OPEN = "open"
    JUDGING = "judging", "Waiting for the verdict"
    SOLVED = "solved"
    NOT_SOLVED = "not_solved", "Not solved"
    ABANDONED = "abandoned"
    CLOSED = "closed", "Closed, result hidden"


def own_sessions(person: User) -> SessionQuerySet:
    """Return the sessions that the person has held as a tutor."""
    return Session.objects.filter(tutor=person, origin=Session.Origin.TUTORED)


def hiding_protocols() -> list[int]:
    """Return the primary keys of the protocols that hide verdicts from tutors. They are few."""
    return list(Protocol.objects.filter(rules__tutor_sees="nothing").values_list("pk", flat=True))


def session_status() -> Case:
    """Return the expression of a session's VisibleStatus, for use in a query."""
    hidden = Q(protocol__in=hiding_protocols()) & ~Q(outcome=Session.Outcome.ABANDONED)
    known = Q(outcome__in=(Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED))
    return Case(
        When(~Q(state=Session.State.CLOSED), then=F("state")),
        When(~Q(former_outcome="") & ~hidden, then=F("former_outcome")),
        When(known & ~hidden, then=F("outcome")),
        default=Value(VisibleStatus.CLOSED),
        output_field=CharField(),
    )


def problem_status(person: User) -> Case:
    """Return the expression of a problem's ProblemStatus, for use in a query. Invalidated sessions solve nothing."""
    held = own_sessions(person).filter(problem=OuterRef("pk"))
    seen_solved = Q(former_outcome=Session.Outcome.SOLVED) | Q(
        former_outcome="", outcome=Session.Outcome.SOLVED
    )
    solved = held.filter(seen_solved, state=Session.State.CLOSED, invalidated=False).exclude(
        protocol__in=hiding_protocols()
    )
    return Case(
        When(Exists(solved), then=Value(ProblemStatus.SOLVED)),
        When(Exists(held.exclude(state=Session.State.CLOSED)), then=Value(ProblemStatus.OPEN)),
        When(Exists(held), then=Value(ProblemStatus.ATTEMPTED)),
        default=Value(ProblemStatus.NEW),
        output_field=CharField(),
    )
