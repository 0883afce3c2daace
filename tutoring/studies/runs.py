"""The runs of the automatic arms of a study: planned from the frozen design, with draws of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from django.db import transaction
from django.utils import timezone

from benchmark.methods import METHODS, Method, SettingsError, format_value, parse_settings
from benchmark.models import Dataset, LanguageModel, Run
from benchmark.providers import Parameters, parse_model_spec
from benchmark.runner import CannotRunError, RunOptions, RunPlan, RunScope, plan_run, start_run
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.studies.actions import StudyRefusedError, lock_study
from tutoring.studies.design import AutomaticArm, parse_frozen
from tutoring.studies.replacement import exclude, record_deviation


def method_settings(method: Method, typed: Sequence[tuple[str, object]], model: LanguageModel) -> list[str]:
    """Return the settings of an arm's method as NAME=VALUE: the parameters of the model, overridden by typed ones."""
    known = {field.name for field in fields(method.settings)}
    sent = {
        field.name: model.parameters.get(field.name) for field in fields(Parameters) if field.name in known
    }
    values = sent | dict(typed)
    return [f"{name}={format_value(value)}" for name, value in values.items()]


def plan_arm(study: Study, arm: Arm) -> RunPlan:
    """Return the plan of an arm's run on the problems of the study, with fresh draws. Raises StudyRefusedError."""
    frozen = parse_frozen(study.design)
    [design] = [one for one in frozen.design.arms if one.name == arm.name]
    assert isinstance(design, AutomaticArm)
    method = METHODS[arm.method]
    scope = RunScope(
        attempts=design.draws,
        first_draw=None,
        problem_ids=[one.problem.partition("/")[2] for one in frozen.problems],
    )
    try:
        settings = parse_settings(
            method.settings, method_settings(method, [*arm.settings.items()], arm.model)
        )
        dataset = Dataset.objects.get(name=frozen.design.problems.dataset)
        plan = plan_run(dataset, parse_model_spec(arm.model.spec), method, settings, scope)
    except (CannotRunError, SettingsError) as error:
        raise StudyRefusedError(f"Arm {arm.name} cannot run: {error}") from None
    return replace(plan, model=arm.model)


def start_arm(study_id: int, arm_id: int, plan: RunPlan, options: RunOptions) -> Run:
    """Store the run of an arm and return it. Assignments without a chain in the run are excluded with a deviation.

    Raises StudyRefusedError if the study has ended or the arm has a run, and CannotRunError.
    """
    with transaction.atomic():
        study = lock_study(study_id)
        arm = Arm.objects.select_related("model").get(pk=arm_id)
        if study.state not in Study.OFFERING:
            raise StudyRefusedError(f"{study} is {study.state}. Only a frozen or running study starts runs.")
        if arm.run is not None:
            raise StudyRefusedError(f"Arm {arm.name} has run {arm.run.pk} already.")
        run = start_run(plan, options)
        run.study_key = study.spending_key
        run.save(update_fields=["study_key"])
        arm.run = run
        arm.save(update_fields=["run"])
        _exclude_without_chain(study, arm, run)
        if study.state == Study.State.FROZEN:
            study.state, study.started_at = Study.State.RUNNING, timezone.now()
            study.save(update_fields=["state", "started_at"])
        return run


def _exclude_without_chain(study: Study, arm: Arm, run: Run) -> None:
    chains = set(run.items.values_list("problem", "chain"))
    rows = [
        row
        for row in arm.assignments.filter(state=Assignment.State.PLANNED)
        if (row.problem_id, row.replicate - 1) not in chains
    ]
    if not rows:
        return
    reasons = "; ".join(f"{one['id']}: {one['reason']}" for one in run.manifest.get("left_out", []))
    record_deviation(
        study, Deviation.Kind.OTHER, f"The method leaves out problems of the study. {reasons}".strip(), rows
    )
    exclude(rows, "left out by the method")
