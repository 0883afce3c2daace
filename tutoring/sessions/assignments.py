"""What sessions know of studies: the end of an assigned session, and problems that a study closes to its tutors."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from accounts.roles import Person
from benchmark.models import Problem
from tutoring.models import Assignment, Session, Study


def end_assignment(session: Session, at: datetime) -> None:
    """Mark the assignment of a session that has closed as done, in the transaction that closes the session."""
    Assignment.objects.filter(session=session, state=Assignment.State.OPEN).update(
        state=Assignment.State.DONE, ended_at=at
    )


def speed_scope(session: Session) -> str:
    """Return the scope in which time factors of the session's judgements are fixed: its study; "" without one."""
    assignment = Assignment.objects.filter(session=session).select_related("study").first()
    return assignment.study.spending_key if assignment else ""


def closed_by_study(person: User, problem: Problem) -> bool:
    """Return whether an unfinished study of this tutor contains the problem: free sessions on it are refused."""
    return Study.objects.filter(
        tutors=person, state__in=Study.UNFINISHED, assignments__problem=problem
    ).exists()


def problems_closed_by_studies(person: User) -> QuerySet[Assignment, Any]:
    """Return the ids of the problems on which the tutor has no free sessions, for use in a query."""
    unfinished = Assignment.objects.filter(study__tutors=person, study__state__in=Study.UNFINISHED)
    return unfinished.values("problem")


def rehearsed_sessions() -> QuerySet[Assignment, Any]:
    """Return the ids of the sessions of rehearsals, which figures leave out, for use in a query."""
    return Assignment.objects.filter(study__rehearsal=True, session__isnull=False).values("session")


def is_concealed(session: Session) -> bool:
    """Return whether a study assigned the session, so that its page says nothing of the model. Rehearsals are open."""
    return Assignment.objects.filter(session=session, study__rehearsal=False).exists()


def concealed_sessions(person: Person) -> QuerySet[Assignment, Any]:
    """Return the ids of the sessions of unfinished studies of this tutor, whose records name the arms."""
    return Assignment.objects.filter(
        study__tutors=person.pk,
        study__state__in=Study.UNFINISHED,
        study__rehearsal=False,
        session__isnull=False,
    ).values("session")


def locked_sessions() -> QuerySet[Assignment, Any]:
    """Return the ids of the sessions of running studies, whose results are locked, for use in a query."""
    return Assignment.objects.filter(study__state__in=Study.OFFERING, session__isnull=False).values("session")
