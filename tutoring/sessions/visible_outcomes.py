"""Outcomes in the lists of a tutor. A protocol that hides the verdict hides its outcome here too.

`tutoring.sessions.conversation.status_for_tutor` decides the same for one session, these functions in queries.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, TextChoices, Value, When

from benchmark.models import Problem
from tutoring.models import Protocol, Session
from tutoring.models.sessions import SessionQuerySet


class ProblemStatus(TextChoices):
    """What a tutor has done with a problem."""

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


def with_visible_status(sessions: SessionQuerySet) -> SessionQuerySet:
    """Annotate sessions with `visible_status`, a value of VisibleStatus."""
    abandoned = Q(outcome=Session.Outcome.ABANDONED)
    hidden = Q(protocol__in=hiding_protocols()) & ~abandoned
    known = Q(outcome__in=(Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED))
    status = Case(
        When(~Q(state=Session.State.CLOSED), then=F("state")),
        When(known & ~hidden, then=F("outcome")),
        default=Value(VisibleStatus.CLOSED),
        output_field=CharField(),
    )
    return sessions.annotate(visible_status=status)


def with_problem_status(problems: QuerySet[Problem], person: User) -> QuerySet[Problem, Any]:
    """Annotate problems with `status`, a value of ProblemStatus. Invalidated sessions solve nothing."""
    held = own_sessions(person).filter(problem=OuterRef("pk"))
    solved = held.filter(
        state=Session.State.CLOSED, outcome=Session.Outcome.SOLVED, invalidated=False
    ).exclude(protocol__in=hiding_protocols())
    status = Case(
        When(Exists(solved), then=Value(ProblemStatus.SOLVED)),
        When(Exists(held.exclude(state=Session.State.CLOSED)), then=Value(ProblemStatus.OPEN)),
        When(Exists(held), then=Value(ProblemStatus.ATTEMPTED)),
        default=Value(ProblemStatus.NEW),
        output_field=CharField(),
    )
    return problems.annotate(status=status)
