"""Reports of tutors, deviations, and what they exclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from tutoring.actions import Invalidate
from tutoring.models import Assignment, AuditEntry, Deviation, Flag, Session, Study
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions.base import StudyRefusedError, lock_study, require_admin
from tutoring.studies.design import parse_frozen
from tutoring.studies.outcomes import keep_outcomes
from tutoring.studies.replacement import exclude, record_deviation, replace


def exclude_changed_problem(study: Study, problem_id: int) -> None:
    """Exclude the unfinished assignments of a problem that changed after freezing, with a deviation."""
    rows = list(
        study.assignments.select_related("problem__dataset").filter(
            problem=problem_id, state__in=Assignment.UNFINISHED
        )
    )
    if not rows:
        return
    problem = rows[0].problem
    frozen = parse_frozen(study.design).hashes
    record_deviation(
        study,
        Deviation.Kind.PROBLEM_CHANGED,
        f"{problem} changed after the design was frozen.",
        rows,
        data={"problem": str(problem), "frozen": frozen[str(problem)], "now": problem.content_hash},
    )
    exclude(rows, Deviation.Kind.PROBLEM_CHANGED)


@dataclass(frozen=True)
class ReportProblem:
    """An action that reports that something is wrong in a session. A repeated command adds no report.

    In a study the report is a deviation, which an admin settles (RecordDeviation); elsewhere it is a flag, which an
    admin answers.
    """

    person: User
    session_id: UUID
    about: str
    """What is wrong: one of ABOUT."""
    text: str
    command: UUID = field(default_factory=uuid4)

    ABOUT = ("model", "problem", "judge", "other")

    def execute(self) -> Deviation | Flag:
        """Return the report. Raises Session.DoesNotExist or RefusedError."""
        with transaction.atomic():
            session = Session.objects.filter(tutor=self.person).get_locked(self.session_id)
            if (earlier := self._earlier(session)) is not None:
                return earlier
            if self.about not in self.ABOUT:
                raise RefusedError(
                    "Choose what is wrong: the model, the problem, the judge, or something else."
                )
            if not self.text.strip():
                raise RefusedError("Say in a few words what is wrong.")
            report = self._report(session)
            AuditEntry.objects.create(
                command=self.command,
                action=type(self).__name__,
                person=self.person,
                session=session,
                data={"report": report.pk},
            )
            return report

    def _earlier(self, session: Session) -> Deviation | Flag | None:
        entry = AuditEntry.objects.filter(command=self.command, person=self.person).first()
        if entry is None:
            return None
        table: type[Deviation | Flag] = Deviation if hasattr(session, "assignment") else Flag
        return table.objects.get(pk=entry.data["report"])

    def _report(self, session: Session) -> Deviation | Flag:
        assignment = Assignment.objects.filter(session=session).select_related("study").first()
        text = self.text.strip()
        if assignment is None:
            return Flag.objects.create(
                session=session,
                raised_by=self.person,
                reason=f"{self.about}: {text}",
                raised_at=timezone.now(),
            )
        return record_deviation(
            assignment.study,
            Deviation.Kind.REPORT,
            text,
            [assignment],
            by=self.person,
            data={"about": self.about},
        )


SETTLING = (
    Deviation.Kind.INFRASTRUCTURE,
    Deviation.Kind.TUTOR,
    Deviation.Kind.DISMISSED,
    Deviation.Kind.OTHER,
)
"""The kinds of deviations that an admin records. Other kinds are recorded by the system."""


@dataclass(frozen=True)
class RecordDeviation:
    """An action that records a deviation, or settles a report. A repeated command changes nothing.

    A fault of the infrastructure excludes and replaces the assignments, and invalidates their sessions. A breach by the
    tutor counts as not solved in the outcomes with compliance. Other kinds change nothing.
    """

    person: User | None
    study_id: int
    kind: str
    reason: str
    assignment_ids: Sequence[int] = ()
    settles: int | None = None
    command: UUID = field(default_factory=uuid4)

    def execute(self) -> Deviation:
        """Return the deviation. Raises PermissionDenied or StudyRefusedError."""
        require_admin(self.person)
        with transaction.atomic():
            study = lock_study(self.study_id)
            command = {"command": str(self.command)}
            if (earlier := study.deviations.filter(data__command=command["command"]).first()) is not None:
                return earlier
            report = self._report(study)
            rows = self._rows(study, report)
            self._check(study, rows)
            kind = Deviation.Kind(self.kind)
            text = self.reason.strip()
            found = record_deviation(study, kind, text, rows, by=self.person, settles=report, data=command)
            if kind == Deviation.Kind.INFRASTRUCTURE:
                for row in rows:
                    self._exclude(row)
            return found

    def _report(self, study: Study) -> Deviation | None:
        if self.settles is None:
            return None
        report = study.deviations.filter(pk=self.settles, kind=Deviation.Kind.REPORT).first()
        if report is None:
            raise StudyRefusedError(f"{study} has no report {self.settles}.")
        if Deviation.objects.filter(settles=report).exists():
            raise StudyRefusedError("The report is settled already.")
        return report

    def _rows(self, study: Study, report: Deviation | None) -> list[Assignment]:
        ids = set(self.assignment_ids)
        if report is not None:
            ids |= set(report.assignments.values_list("pk", flat=True))
        rows = list(study.assignments.select_related("session").filter(pk__in=ids).order_by("pk"))
        if missing := ids - {row.pk for row in rows}:
            raise StudyRefusedError(f"{study} has no assignment {min(missing)}.")
        return rows

    def _check(self, study: Study, rows: Sequence[Assignment]) -> None:
        if self.kind not in SETTLING:
            raise StudyRefusedError(f"The kind of a deviation is one of: {', '.join(SETTLING)}.")
        if not self.reason.strip():
            raise StudyRefusedError("Say what happened.")
        if study.state == Study.State.DRAFT:
            raise StudyRefusedError("A draft has no deviations. Change the draft.")
        if self.kind in (Deviation.Kind.INFRASTRUCTURE, Deviation.Kind.TUTOR) and not rows:
            raise StudyRefusedError("Name the assignments that the deviation concerns.")
        ended = [row for row in rows if row.state in Assignment.LEFT_OUT]
        if self.kind == Deviation.Kind.INFRASTRUCTURE and ended:
            raise StudyRefusedError(f"Assignment {ended[0].pk} is {ended[0].state} already.")
        if self.kind == Deviation.Kind.INFRASTRUCTURE and any(row.tutor_id is None for row in rows):
            raise StudyRefusedError(
                "A chain of an automatic arm cannot be excluded by hand. Resume its run: failed items are tried again."
            )

    def _exclude(self, row: Assignment) -> None:
        if row.session is not None and not row.session.invalidated and self.person is not None:
            Invalidate(
                session_id=row.session.pk, person=self.person, command=self.command, reason=self.reason
            ).execute()
        exclude([row], Deviation.Kind.INFRASTRUCTURE)
        replace(row)


def withdraw_from_studies(person: User, reason: str, by: User | None = None) -> list[Deviation]:
    """Record in every study that the person withdraws; call it before the content of the sessions is removed.

    Sessions that ended keep their outcomes in the assignment (intention to treat). An open session counts as not
    solved. Sessions that were not started are replaced. Return one deviation for each study.
    """
    found = []
    with transaction.atomic():
        own = Assignment.objects.filter(tutor=person).values("study")
        for study in Study.objects.select_for_update().filter(pk__in=own).order_by("pk"):
            rows = list(study.assignments.filter(tutor=person).order_by("pk"))
            study.tutors.remove(person)
            found.append(record_deviation(study, Deviation.Kind.WITHDRAWAL, reason, rows, by=by))
            _withdraw(rows)
    return found


def _withdraw(rows: Sequence[Assignment]) -> None:
    now = timezone.now()
    for row in rows:
        if row.state in Assignment.UNOPENED:
            exclude([row], Deviation.Kind.WITHDRAWAL)
            replace(row)
        elif row.state in (Assignment.State.OPEN, Assignment.State.DONE):
            keep_outcomes(row)
            row.state, row.ended_at = Assignment.State.DONE, row.ended_at or now
            row.save(update_fields=["state", "outcomes", "ended_at"])
