"""The offer of a tutor's next assignment, and the start of its session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.roles import Role, has_role
from tutoring.actions import StartSession
from tutoring.models import Assignment, Session, Study
from tutoring.studies.actions.base import StudyRefusedError, lock_study
from tutoring.studies.actions.deviations import exclude_changed_problem
from tutoring.studies.design import parse_frozen


@dataclass(frozen=True)
class OfferNext:
    """An action that offers a tutor the next assignment.

    That is the open session, the one already offered, or the next planned one.
    """

    person: User

    def execute(self) -> Assignment | None:
        """Return the assignment, or None if no study has one for this tutor. Raises PermissionDenied."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        with transaction.atomic():
            # The lock on the tutor's row keeps two requests from claiming two assignments.
            User.objects.select_for_update().get(pk=self.person.pk)
            now = timezone.now()
            held = self._held(now)
            return held or self._claim(now)

    def _held(self, now: datetime) -> Assignment | None:
        own = _own(self.person)
        begun = own.filter(state=Assignment.State.OPEN, study__state__in=Study.UNFINISHED).first()
        offered = Q(state=Assignment.State.OFFERED, expires_at__gt=now, study__state__in=Study.OFFERING)
        return begun or own.filter(offered).first()

    def _claim(self, now: datetime) -> Assignment | None:
        planned = _own(self.person).filter(state=Assignment.State.PLANNED, study__state__in=Study.OFFERING)
        for study_id in planned.order_by("study").values_list("study", flat=True).distinct():
            study = lock_study(study_id)
            if study.state not in Study.OFFERING:
                continue
            chosen = planned.filter(study=study).first()
            if chosen is None:
                continue
            days = parse_frozen(study.design).design.expiry_days
            chosen.state = Assignment.State.OFFERED
            chosen.offered_at, chosen.expires_at = now, now + timedelta(days=days)
            chosen.save(update_fields=["state", "offered_at", "expires_at"])
            if study.state == Study.State.FROZEN:
                study.state, study.started_at = Study.State.RUNNING, now
                study.save(update_fields=["state", "started_at"])
            return chosen
        return None


def _own(person: User) -> QuerySet[Assignment]:
    return (
        Assignment.objects.filter(tutor=person).select_related("problem__dataset").order_by("study", "order")
    )


@dataclass(frozen=True)
class StartAssigned:
    """An action that opens the session of an offered assignment, under the protocol and with the model of its arm."""

    person: User
    assignment_id: int

    def execute(self) -> Session:
        """Return the session; the same one if it is open already.

        Raises PermissionDenied, Study.DoesNotExist for another tutor's assignment, ConsentMissingError, or
        RefusedError. No message names the model or the arm.
        """
        with transaction.atomic():
            # Rows are locked in the same order everywhere: tutor, study, assignment.
            User.objects.select_for_update().get(pk=self.person.pk)
            study = Study.objects.filter(assignments=self.assignment_id, assignments__tutor=self.person)
            lock_study(study.values_list("pk", flat=True).first() or 0)
            assignment = _locked(self.assignment_id)
            if assignment.session is not None:
                return assignment.session
            refusal = _refusal_to_start(assignment)
            if refusal is None:
                return self._start(assignment)
        raise StudyRefusedError(refusal)

    def _start(self, assignment: Assignment) -> Session:
        arm, now = assignment.arm, timezone.now()
        assert arm.protocol is not None
        session = StartSession(
            self.person, assignment.problem, arm.protocol, arm.model, assigned=True
        ).execute()
        days = parse_frozen(assignment.study.design).design.expiry_days
        assignment.session, assignment.state = session, Assignment.State.OPEN
        assignment.opened_at, assignment.expires_at = now, now + timedelta(days=days)
        assignment.save(update_fields=["session", "state", "opened_at", "expires_at"])
        return session


def _locked(assignment_id: int) -> Assignment:
    related = ("study", "arm__protocol", "arm__model", "problem__dataset", "session")
    return Assignment.objects.select_for_update(of=("self",)).select_related(*related).get(pk=assignment_id)


def _refusal_to_start(assignment: Assignment) -> str | None:
    """Return why the session cannot start, or None. A changed problem is excluded with a deviation."""
    if assignment.study.state not in Study.OFFERING:
        return "The study has ended. It has no more sessions."
    if assignment.state != Assignment.State.OFFERED or (
        assignment.expires_at is not None and assignment.expires_at <= timezone.now()
    ):
        return "This session is no longer offered to you. Press “Your next session” for another one."
    frozen = parse_frozen(assignment.study.design).hashes
    if frozen[str(assignment.problem)] != assignment.problem.content_hash:
        exclude_changed_problem(assignment.study, assignment.problem_id)
        return "This problem has changed since the study began. Press “Your next session” for another one."
    if not assignment.arm.model.active:
        return "This session cannot start now. Tell an admin that a model of the study is inactive."
    return None
