"""Plans of the chains of automatic arms, checked before a design is frozen and again before a run starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from benchmark.methods import METHODS, Method, SettingsError, format_value, parse_settings
from benchmark.models import Dataset, LanguageModel
from benchmark.providers import Parameters, parse_model_spec
from benchmark.runner import CannotRunError, RunPlan, RunScope, plan_run
from tutoring.arms.human_sessions import named_studies, of_version
from tutoring.arms.recorded_starts import samples_like
from tutoring.arms.settings import SessionSettings, find_protocol
from tutoring.models import Protocol, Study
from tutoring.studies.design import AutomaticArm

_NEEDS_SESSIONS = ("session-sham",)
"""Methods that use sessions of people, which the study itself may have to produce."""


def method_settings(method: Method, typed: Sequence[tuple[str, object]], model: LanguageModel) -> list[str]:
    """Return the settings of an arm's method as NAME=VALUE: the parameters of the model, overridden by typed ones."""
    known = {field.name for field in fields(method.settings)}
    sent = {
        field.name: model.parameters.get(field.name) for field in fields(Parameters) if field.name in known
    }
    values = sent | dict(typed)
    return [f"{name}={format_value(value)}" for name, value in values.items()]


def is_yoked(arm: AutomaticArm) -> bool:
    """Return whether the arm's chains begin with sessions of people, which also determine their number."""
    return arm.settings.get("from_first") is not None


def is_yoked_to(settings: Mapping[str, object], study: str, version: int) -> bool:
    """Return whether chains with these settings begin with sessions of the study."""
    text = settings.get("from_first")
    named = set() if text is None else named_studies(str(text))
    return not named.isdisjoint({study, f"{study}@{version}"})


def _settings(arm: AutomaticArm, model: LanguageModel, **changed: object) -> Any:
    """Return the settings of the arm's run, some of them changed. Raises SettingsError."""
    method = METHODS[arm.method]
    typed = {**arm.settings, **changed}
    return parse_settings(method.settings, method_settings(method, [*typed.items()], model))


def plan_chains(
    arm: AutomaticArm,
    model: LanguageModel,
    dataset: Dataset,
    problem_ids: Sequence[str],
    study: Study | None = None,
) -> RunPlan:
    """Return the plan of the arm's run with at most one chain for each assignment, and with fresh draws.

    The text `study=NAME` of a yoked arm stands for the version of its own `study`. Raises CannotRunError or
    SettingsError.
    """
    changed: dict[str, object] = {}
    if is_yoked(arm):
        changed["yoked_chains"] = arm.draws
        if study is not None:
            changed["from_first"] = of_version(str(arm.settings["from_first"]), study.name, study.version)
    method, settings = METHODS[arm.method], _settings(arm, model, **changed)
    scope = RunScope(attempts=1 if is_yoked(arm) else arm.draws, first_draw=None, problem_ids=problem_ids)
    return replace(plan_run(dataset, parse_model_spec(model.spec), method, settings, scope), model=model)


def yoking_fault(
    arm: AutomaticArm,
    model: LanguageModel,
    sessions: Sequence[tuple[Protocol, LanguageModel]],
    sessions_per_cell: int,
) -> str:
    """Return why the study's own sessions cannot begin the chains of a yoked arm, as a sentence, or blank.

    `sessions` holds protocol and model of each human arm.
    """
    settings: SessionSettings = _settings(arm, model)
    try:
        rules = find_protocol(settings.protocol).content_hash
    except SettingsError as error:
        return f"Arm {arm.name} cannot run: {error}"
    fitting = [
        (protocol, of_people)
        for protocol, of_people in sessions
        if protocol.content_hash == rules
        and of_people.spec == model.spec
        and samples_like(of_people, settings.parameters)
    ]
    most = len(fitting) * sessions_per_cell
    if not most:
        return (
            f"Arm {arm.name} is yoked to this study, but no human arm has its protocol and model. Give a human arm "
            "both, or leave from_first out."
        )
    if most < arm.draws:
        return (
            f"Arm {arm.name} is yoked to this study, which holds {most} session{'s' if most > 1 else ''} with its "
            f"protocol and model at each problem, fewer than its {arm.draws} draws. Set draws to {most} at most."
        )
    return ""


def plan_fault(arm: AutomaticArm, model: LanguageModel, dataset: Dataset, problem_ids: Sequence[str]) -> str:
    """Return why the arm's run cannot be planned, as a sentence, or blank.

    Arms that use sessions of people are not planned here, because these may be sessions of the study.
    """
    if arm.method in _NEEDS_SESSIONS or is_yoked(arm):
        return ""
    try:
        plan_chains(arm, model, dataset, problem_ids)
    except (CannotRunError, SettingsError) as error:
        return f"Arm {arm.name} cannot run: {error}"
    return ""
