"""Plans of the chains of automatic arms, checked before a design is frozen and again before a run starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from benchmark.methods import METHODS, Method, SettingsError, format_value, parse_settings
from benchmark.models import Dataset, LanguageModel
from benchmark.providers import Parameters, parse_model_spec
from benchmark.runner import CannotRunError, RunPlan, RunScope, plan_run
from tutoring.arms.human_sessions import named_studies
from tutoring.models import Study
from tutoring.studies.design import AutomaticArm

_NEEDS_SESSIONS = ("session-sham",)
"""Methods that use sessions of people, which the study itself may have to make."""


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


def is_yoked_to(arm: AutomaticArm, study: Study) -> bool:
    """Return whether the arm's chains begin with sessions of this study."""
    named = named_studies(str(arm.settings["from_first"])) if is_yoked(arm) else set()
    return not named.isdisjoint({study.name, f"{study.name}@{study.version}"})


def plan_chains(
    arm: AutomaticArm, model: LanguageModel, dataset: Dataset, problem_ids: Sequence[str]
) -> RunPlan:
    """Return the plan of the arm's run, with fresh draws. Raises CannotRunError or SettingsError."""
    method = METHODS[arm.method]
    attempts = 1 if is_yoked(arm) else arm.draws
    scope = RunScope(attempts=attempts, first_draw=None, problem_ids=problem_ids)
    settings = parse_settings(method.settings, method_settings(method, [*arm.settings.items()], model))
    return replace(plan_run(dataset, parse_model_spec(model.spec), method, settings, scope), model=model)


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
