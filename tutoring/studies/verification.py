"""Verification of a study: its assignments are computed again from the frozen design and the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accounts.pseudonyms import pseudonym
from tutoring.models import Study
from tutoring.studies.assignment import AssignedRow, assign
from tutoring.studies.design import parse_frozen


@dataclass(frozen=True)
class StudyVerification:
    """The result of a verification. `faults` has a sentence for each difference; none means that all rows agree."""

    rows: int
    replacements: int
    faults: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {"rows": self.rows, "replacements": self.replacements, "faults": list(self.faults)}


def verify(study: Study) -> StudyVerification:
    """Return whether the stored design has its hash and every stored row is the computed one.

    Replacements are checked against the rows that they replace.
    """
    frozen = parse_frozen(study.design)
    faults = []
    if frozen.digest != study.design_hash:
        faults.append(f"The design of {study} has not the hash that was stored when it was frozen.")
    expected = {(row.arm, row.problem, row.replicate): row for row in assign(frozen, study.seed)}
    names: dict[int, str] = {}
    stored: dict[tuple[str, str, int], AssignedRow] = {}
    replacements = 0
    related = ("arm", "problem__dataset", "tutor", "replaces")
    for one in study.assignments.select_related(*related).order_by("pk"):
        if one.tutor is not None and one.tutor_id not in names:
            names[one.tutor.pk] = pseudonym(one.tutor)
        if one.replaces is not None:
            replacements += 1
            before = one.replaces
            same = (one.arm_id, one.problem_id, one.replicate) == (
                before.arm_id,
                before.problem_id,
                before.replicate,
            )
            if not same or one.tutor_id == before.tutor_id or before.state not in ("expired", "excluded"):
                faults.append(f"Assignment {one.pk} does not fit assignment {before.pk}, which it replaces.")
            continue
        tutor = names[one.tutor.pk] if one.tutor is not None else ""
        row = AssignedRow(one.arm.name, str(one.problem), one.replicate, tutor, one.order)
        stored[row.arm, row.problem, row.replicate] = row
    for key, row in expected.items():
        found = stored.get(key)
        if found is None:
            faults.append(f"No assignment is stored for {_cell(key)}.")
        elif found != row:
            faults.append(
                f"The row of {_cell(key)} is stored for {found.tutor or 'no tutor'} at position {found.order}, but "
                f"the seed gives {row.tutor or 'no tutor'} at position {row.order}."
            )
    faults += [
        f"A row of {_cell(key)} is stored, but the seed gives none."
        for key in stored.keys() - expected.keys()
    ]
    return StudyVerification(len(expected), replacements, tuple(faults))


def _cell(key: tuple[str, str, int]) -> str:
    arm, problem, replicate = key
    return f"number {replicate} of arm {arm} on {problem}"
