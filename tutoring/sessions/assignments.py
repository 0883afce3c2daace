"""Studies of sessions: the end of an assigned session, and problems that a study closes to its tutors."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.roles import Person
from benchmark.models import Problem
from tutoring.models import Arm, Assignment, Session, Study


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


def concealed_studies(person: Person) -> QuerySet[Study]:
    """Return the unfinished studies of this tutor, whose arms and models the tutor must not see."""
    return Study.objects.filter(tutors=person.pk, state__in=Study.UNFINISHED, rehearsal=False)


def concealed_sessions(person: Person) -> QuerySet[Assignment, Any]:
    """Return the ids of the sessions of unfinished studies of this tutor, whose records name the arms."""
    return Assignment.objects.filter(study__in=concealed_studies(person), session__isnull=False).values(
        "session"
    )


def concealed_ids(person: Person) -> set[UUID]:
    """Return the ids of `concealed_sessions`, whose protocol the tutor must not see because it may tell the arm."""
    return set(concealed_sessions(person).values_list("session", flat=True))


def is_of_blind_study() -> Q:
    """Return the filter for sessions of unfinished studies that compare people with automatic arms.

    Their reviewers must not know who held a session. Runs one query: without such a study, the filter reads no table.
    """
    studies = Study.objects.filter(
        Exists(Arm.objects.filter(study=OuterRef("pk"), kind=Arm.Kind.AUTOMATIC)),
        Exists(Arm.objects.filter(study=OuterRef("pk"), kind=Arm.Kind.HUMAN)),
        state__in=Study.UNFINISHED,
    )
    if not (found := list(studies.values_list("pk", flat=True))):
        return Q(pk__in=())
    rows = Assignment.objects.filter(study__in=found)
    return Q(pk__in=rows.filter(session__isnull=False).values("session")) | Q(
        work_item__in=rows.filter(work_item__isnull=False).values("work_item")
    )


def locked_sessions() -> QuerySet[Assignment, Any]:
    """Return the ids of the sessions of running studies, whose results are locked, for use in a query."""
    return Assignment.objects.filter(study__state__in=Study.OFFERING, session__isnull=False).values("session")
