"""Commands on studies. They are the only writers of studies, assignments, deviations and looks.

The end of a session marks its assignment as done (tutoring.sessions.assignments). `person` is None for commands at the
command line, which operators give.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.roles import Role, has_role
from benchmark.model_calls import catalogue
from tutoring.actions import Invalidate, StartSession
from tutoring.models import Arm, Assignment, AuditEntry, Deviation, Flag, Look, Session, Study
from tutoring.sessions.context import RefusedError
from tutoring.studies.analysis import current_figures
from tutoring.studies.assignment import AssignedRow, assign
from tutoring.studies.design import NAME, Design, DesignError, HumanArm, parse_frozen
from tutoring.studies.outcomes import keep_outcomes
from tutoring.studies.replacement import exclude, exclude_unstarted, record_deviation, replace
from tutoring.studies.resolution import Resolution, resolve

STOPPED = "stopped"
"""The reason of assignments that were not started when their study was stopped."""


class StudyRefusedError(RefusedError):
    """A command on a study that its state does not allow. The message says what to do."""


def _require_admin(person: User | None) -> None:
    if person is not None and not has_role(person, Role.ADMIN):
        raise PermissionDenied("Only admins manage studies.")


def lock_study(study_id: int) -> Study:
    """Return the study's row, locked until the transaction ends."""
    return Study.objects.select_for_update().get(pk=study_id)


@dataclass(frozen=True)
class SaveDraft:
    """Store the JSON values of a design as a draft. They may have faults, except in the name.

    The values replace the draft `study_id`, or else the draft with the same name.
    """

    person: User | None
    data: dict[str, Any]
    study_id: int | None = None

    def execute(self) -> Study:
        """Return the draft. Raises PermissionDenied, or DesignError for a name that is not valid or not free."""
        _require_admin(self.person)
        name = self.data.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DesignError(
                "A draft needs a name of small letters, digits and hyphens, such as hints-2026, at most 60 characters."
            )
        with transaction.atomic():
            named = Study.objects.select_for_update().filter(name=name).order_by("-version").first()
            if named is not None and named.state != Study.State.DRAFT:
                raise DesignError(_taken(named))
            study = named or Study(created_by=self.person)
            if self.study_id is not None:
                study = self._renamed(named)
            study.name, study.title = name, str(self.data.get("title") or name)[:200]
            study.rehearsal, study.design = self.data.get("rehearsal") is True, self.data
            study.save()
            return study

    def _renamed(self, named: Study | None) -> Study:
        study = lock_study(self.study_id or 0)
        if study.state != Study.State.DRAFT:
            raise DesignError(_taken(study))
        if named is not None and named.pk != study.pk:
            raise DesignError(f"There is another draft {named.name}. Choose another name.")
        return study


def _taken(study: Study) -> str:
    return (
        f"The study {study.name} is {study.state} already and does not change. Amend it (a new version), or choose "
        "another name."
    )


@dataclass(frozen=True)
class FreezeStudy:
    """Freeze a design: resolve it, draw the seed, and store every arm and assignment, or nothing.

    The gate refuses problems without hidden tests, with reference programs that are not accepted or not judged, unless
    `accept_gate` is set; the findings are stored with the design in any case.
    """

    person: User | None
    design: Design
    accept_gate: bool = False

    def execute(self) -> Study:
        """Return the frozen study. Raises PermissionDenied, or DesignError with a sentence for each reason."""
        _require_admin(self.person)
        with transaction.atomic():
            latest = (
                Study.objects.select_for_update().filter(name=self.design.name).order_by("-version").first()
            )
            if latest is not None and latest.state != Study.State.DRAFT:
                raise DesignError(_taken(latest))
            return _freeze(self.person, self.design, latest or Study(), 1, accept_gate=self.accept_gate)


def _freeze(person: User | None, design: Design, study: Study, version: int, *, accept_gate: bool) -> Study:
    found = resolve(design, version)
    frozen = found.frozen
    if frozen.gate and not accept_gate:
        raise DesignError(
            *(f"Problem {one.problem}: {one.kind}. {one.detail}" for one in frozen.gate),
            "Remove these problems with `without`, repair them, or accept the gate's findings (--accept-gate).",
        )
    seed = secrets.token_hex(32)
    rows = assign(frozen, seed)
    now = timezone.now()
    study.name, study.version, study.title = design.name, version, design.title
    study.rehearsal, study.design, study.design_hash = design.rehearsal, frozen.to_json(), frozen.digest
    study.state, study.seed = Study.State.FROZEN, seed
    study.created_by, study.frozen_by, study.frozen_at = study.created_by or person, person, now
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError:
        raise DesignError(f"Another process froze {design.name} v{version} meanwhile.") from None
    study.tutors.set(found.tutors.values())
    for model in found.models.values():
        catalogue.freeze(model)
    _store_rows(study, design, found, rows)
    return study


def _store_rows(study: Study, design: Design, found: Resolution, rows: Sequence[AssignedRow]) -> None:
    arms = {}
    for position, arm in enumerate(design.arms):
        own: dict[str, Any] = (
            {"protocol": found.protocols[arm.protocol]}
            if isinstance(arm, HumanArm)
            else {"method": arm.method, "settings": arm.settings}
        )
        arms[arm.name] = Arm.objects.create(
            study=study,
            name=arm.name,
            position=position,
            kind=arm.kind,
            model=found.models[arm.model],
            **own,
        )
    Assignment.objects.bulk_create(
        (
            Assignment(
                study=study,
                arm=arms[row.arm],
                problem=found.problems[row.problem],
                replicate=row.replicate,
                tutor=found.tutors[row.tutor] if row.tutor else None,
                order=row.order,
            )
            for row in rows
        ),
        batch_size=500,
    )


@dataclass(frozen=True)
class AmendStudy:
    """Replace a frozen or running study by a new version with another design. The old version is stopped."""

    person: User | None
    study_id: int
    design: Design
    reason: str
    accept_gate: bool = False

    def execute(self) -> Study:
        """Return the new version. Raises PermissionDenied, StudyRefusedError or DesignError."""
        _require_admin(self.person)
        if not self.reason.strip():
            raise StudyRefusedError("Say why the design changes.")
        with transaction.atomic():
            old = lock_study(self.study_id)
            if old.state not in Study.OFFERING:
                raise StudyRefusedError(f"{old} is {old.state}. Only a frozen or running study is amended.")
            if old.name != self.design.name:
                raise StudyRefusedError(f"The new version has the same name: {old.name}.")
            new = _freeze(self.person, self.design, Study(), old.version + 1, accept_gate=self.accept_gate)
            data = {"version": new.version, "design_hash": new.design_hash}
            stop(old, Deviation.Kind.AMENDMENT, self.reason.strip(), self.person, data)
            return new


@dataclass(frozen=True)
class OfferNext:
    """Offer a tutor the next assignment: the session that is open, the one already offered, or the next planned one."""

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
    """Open the session of an offered assignment, under the protocol and with the model of its arm."""

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
    """Report that something is wrong in a session. A repeated command reports once.

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
            session = Session.objects.select_for_update(of=("self",)).get(
                pk=self.session_id, tutor=self.person
            )
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
    """Record a deviation, or settle a report. A repeated command changes nothing.

    A fault of the infrastructure excludes the assignments, invalidates their sessions and replaces them. A breach by
    the tutor counts as not solved in the outcomes with compliance. Other kinds change nothing.
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
        _require_admin(self.person)
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
                "A chain of an automatic arm is not excluded by hand. Resume its run: failed items are tried again."
            )

    def _exclude(self, row: Assignment) -> None:
        if row.session is not None and not row.session.invalidated and self.person is not None:
            Invalidate(
                session_id=row.session.pk, person=self.person, command=self.command, reason=self.reason
            ).execute()
        exclude([row], Deviation.Kind.INFRASTRUCTURE)
        replace(row)


@dataclass(frozen=True)
class TakeLook:
    """Look at the results of a running study, which unlocks them, and stop it if its stopping rule says so."""

    person: User | None
    study_id: int

    def execute(self) -> Look:
        """Return the look. Raises PermissionDenied or StudyRefusedError."""
        _require_admin(self.person)
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state != Study.State.RUNNING:
                raise StudyRefusedError(_no_look(study))
            rule = parse_frozen(study.design).design.stopping.rule
            if rule == "fixed":
                raise StudyRefusedError(
                    "The design has no looks: its results are unlocked when every session has ended, or when the "
                    "study is stopped."
                )
            return look(study, self.person)


def _no_look(study: Study) -> str:
    if study.state in (Study.State.STOPPED, Study.State.CLOSED):
        return f"{study} is {study.state}, so its results are unlocked already."
    return f"{study} is {study.state}. A look needs a running study."


def look(study: Study, person: User | None) -> Look:
    """Record a look at the locked study, and stop the study if its rule says so.

    Without a change since the last look, return that look.
    """
    figures = current_figures(study)
    last = study.looks.order_by("-pk").first()
    if last is not None and last.figures == figures.to_json():
        return last
    decision = Look.Decision.STOP if figures.stop else Look.Decision.CONTINUE
    taken = Look.objects.create(
        study=study, by=person, counted=figures.pairs, figures=figures.to_json(), decision=decision
    )
    if figures.stop:
        stop_offering(study)
    return taken


@dataclass(frozen=True)
class StopStudy:
    """Stop a study: no more sessions are offered, those not started are excluded, open ones continue."""

    person: User | None
    study_id: int
    reason: str

    def execute(self) -> Study:
        """Return the study. Raises PermissionDenied or StudyRefusedError."""
        _require_admin(self.person)
        if not self.reason.strip():
            raise StudyRefusedError("Say why the study stops.")
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state not in Study.OFFERING:
                raise StudyRefusedError(
                    f"{study} is {study.state}. Only a frozen or running study is stopped."
                )
            stop(study, Deviation.Kind.STOPPED, self.reason.strip(), self.person)
            return study


def stop(
    study: Study,
    kind: Deviation.Kind,
    reason: str,
    person: User | None,
    data: dict[str, object] | None = None,
) -> None:
    """Stop the locked study with a deviation of this kind."""
    rows = stop_offering(study)
    record_deviation(study, kind, reason, rows, by=person, data=data)


def stop_offering(study: Study) -> list[Assignment]:
    """Set the locked study to stopped; return the assignments that were not started, which are excluded."""
    rows = exclude_unstarted(study, STOPPED)
    study.state, study.stopped_at = Study.State.STOPPED, timezone.now()
    study.save(update_fields=["state", "stopped_at"])
    return rows


@dataclass(frozen=True)
class CloseStudy:
    """Close a stopped study, or one whose sessions have all ended. Its problems are free again, its seed is public."""

    person: User | None
    study_id: int

    def execute(self) -> Study:
        """Return the study. Raises PermissionDenied or StudyRefusedError."""
        _require_admin(self.person)
        with transaction.atomic():
            study = lock_study(self.study_id)
            if study.state not in Study.UNFINISHED:
                raise StudyRefusedError(f"{study} is {study.state}.")
            unfinished = study.assignments.filter(
                state__in=Assignment.UNFINISHED, tutor__isnull=False
            ).count()
            if unfinished:
                raise StudyRefusedError(
                    f"{unfinished} sessions of {study} have not ended. Stop the study and wait for the open sessions, "
                    "or exclude them with a deviation."
                )
            close(study)
            return study


def close(study: Study) -> None:
    """Set the locked study to closed. Chains of automatic arms that are not done are excluded."""
    exclude(study.assignments.filter(state__in=Assignment.UNFINISHED), STOPPED)
    study.state, study.closed_at = Study.State.CLOSED, timezone.now()
    study.save(update_fields=["state", "closed_at"])


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
        if row.state in (Assignment.State.PLANNED, Assignment.State.OFFERED):
            exclude([row], Deviation.Kind.WITHDRAWAL)
            replace(row)
        elif row.state in (Assignment.State.OPEN, Assignment.State.DONE):
            keep_outcomes(row)
            row.state, row.ended_at = Assignment.State.DONE, row.ended_at or now
            row.save(update_fields=["state", "outcomes", "ended_at"])
