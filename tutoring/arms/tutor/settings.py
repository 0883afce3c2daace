"""The settings of the automatic tutor, and what a run of it fixes when it starts."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from benchmark.methods import Example, PlannedRun, Preparation, SettingsError, TutorModel
from benchmark.methods.settings import Text, option
from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.providers import ModelSpecError, Parameters
from tutoring.arms.policy import KNOWS, Fact
from tutoring.arms.settings import SessionSettings, example, prepare_sessions
from tutoring.arms.tutor.policy import CONDUCT, TUTOR
from tutoring.rules import MessageContext

KNOWN: dict[str, frozenset[Fact]] = {
    "none": frozenset(),
    "analysis": frozenset({"analysis"}),
    "references": frozenset({"analysis", "references"}),
}
"""The facts of each value of the setting `knows`."""

DRY_REPLY = '{"diagnosis": "x", "level": 1, "act": "code", "message": "Please check it once more."}'
"""The placeholder reply of dry runs."""


@dataclass(frozen=True)
class TutorSettings(SessionSettings):
    """Settings of the tutor's model, its knowledge and its guard."""

    tutor: Text | None = option(
        None, "the tutor's model: PROVIDER:MODEL, LABEL or LABEL@VERSION; none: the student's own model"
    )
    knows: Literal["none", "analysis", "references"] = option(
        "none", "what the tutor has besides the statement; references: the analysis and reference programs"
    )
    cap: int | None = option(
        3, "highest level of a message (the codebook's 0 to 4); none: no bound", ge=0, le=4
    )
    guard: bool = option(True, "check every draft before it is sent; false: drafts are sent unchecked")


def prepare_tutor(planned: PlannedRun) -> Preparation:
    """Fix the protocol, the tutor's model and its knowledge. Raises SettingsError before anything is paid for."""
    settings: TutorSettings = planned.settings
    knows = KNOWN[settings.knows]
    prepared = prepare_sessions(replace(TUTOR, knows=knows), planned)
    left_out = dict(prepared.left_out)
    if "analysis" in knows:
        without = planned.dataset.problems.filter(analysis="", pk__in=[one.pk for one in planned.problems])
        reason = "it has no official analysis"
        left_out |= dict.fromkeys(without.values_list("external_id", flat=True), reason)
    tutor = _tutor_model(planned, settings)
    name = f"{tutor.row.label}@{tutor.row.version}" if tutor.row else str(tutor.spec)
    digest = hashlib.sha256("\n".join(TUTOR.texts()).encode()).hexdigest()
    conduct: dict[str, Any] = {
        "model": str(tutor.spec),
        "cap": settings.cap,
        "guard": settings.guard,
        "dataset": planned.dataset.name,
        "template_hash": digest,
    }
    assert isinstance(prepared.settings, TutorSettings)
    fixed = replace(prepared.settings, tutor=name)
    record = {**prepared.record, CONDUCT: conduct, KNOWS: sorted(knows)}
    return replace(prepared, settings=fixed, left_out=left_out, record=record, tutor=tutor)


def _tutor_model(planned: PlannedRun, settings: TutorSettings) -> TutorModel:
    """Return the tutor's model. Raises SettingsError."""
    if settings.tutor is None:
        return TutorModel(planned.spec, settings.parameters)
    try:
        spec, row = catalogue.choose(settings.tutor)
    except (CatalogueError, ModelSpecError) as error:
        raise SettingsError(f"tutor={settings.tutor}: {error}") from None
    return TutorModel(spec, Parameters.from_json(row.parameters) if row else Parameters(), row)


def tutor_example() -> Example:
    """Return an example of a run with the default settings."""
    usual = example()
    conduct = {"model": "", "cap": 3, "guard": True, "dataset": "", "template_hash": ""}
    texts = {**usual.texts, "context of 0": MessageContext()}
    return Example({**usual.prepared, CONDUCT: conduct, KNOWS: []}, texts)
