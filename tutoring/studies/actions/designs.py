"""Drafts of designs, and their freezing as studies."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmark.model_calls import catalogue
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.studies.actions.base import StudyRefusedError, lock_study, require_admin
from tutoring.studies.actions.ending import stop
from tutoring.studies.assignment import AssignedRow, assign
from tutoring.studies.design import NAME, Design, DesignError, HumanArm
from tutoring.studies.resolution import Resolution, resolve


@dataclass(frozen=True)
class SaveDesign:
    """An action that stores the JSON values of a design as a draft. They may have faults, except in the name.

    The values replace the draft `study_id`, or else the draft with the same name.
    """

    person: User | None
    data: dict[str, Any]
    study_id: int | None = None

    def execute(self) -> Study:
        """Return the draft. Raises PermissionDenied, or DesignError for a name that is not valid or not free."""
        require_admin(self.person)
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
    """An action that freezes a design: resolves it, draws the seed, and stores every arm and assignment, or nothing.

    The gate refuses problems without hidden tests, with reference programs that are not accepted or not judged, unless
    `accept_gate` is set; the findings are stored with the design in any case.
    """

    person: User | None
    design: Design
    accept_gate: bool = False

    def execute(self) -> Study:
        """Return the frozen study. Raises PermissionDenied, or DesignError with a sentence for each reason."""
        require_admin(self.person)
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
            *(one.sentence for one in frozen.gate),
            "Change the design, remove these problems with `without` or repair them, or accept the gate's findings "
            "(--accept-gate).",
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
    """An action that replaces a frozen or running study by a new version with another design.

    The old version is stopped.
    """

    person: User | None
    study_id: int
    design: Design
    reason: str
    accept_gate: bool = False

    def execute(self) -> Study:
        """Return the new version. Raises PermissionDenied, StudyRefusedError or DesignError."""
        require_admin(self.person)
        if not self.reason.strip():
            raise StudyRefusedError("Say why the design changes.")
        with transaction.atomic():
            old = lock_study(self.study_id)
            if old.state not in Study.OFFERING:
                raise StudyRefusedError(
                    f"{old} is {old.state}. Only a frozen or running study can be amended."
                )
            if old.name != self.design.name:
                raise StudyRefusedError(f"The new version has the same name: {old.name}.")
            new = _freeze(self.person, self.design, Study(), old.version + 1, accept_gate=self.accept_gate)
            data = {"version": new.version, "design_hash": new.design_hash}
            stop(old, Deviation.Kind.AMENDMENT, self.reason.strip(), self.person, data)
            return new
