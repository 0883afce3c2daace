"""The runs of the automatic arms of a study: planned from the frozen design, with draws of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmark.methods import SettingsError
from benchmark.model_calls import RateLimits, RunBudget, catalogue
from benchmark.models import Dataset, Run
from benchmark.runner import (
    CannotRunError,
    QueueUnavailableError,
    RunOptions,
    RunPlan,
    connected_workers,
    dispatch,
    prepare_resume,
    start_run,
)
from tutoring.arms.recorded_starts import SESSIONS_LEFT_OUT
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.studies.actions import StudyRefusedError, lock_study, require_admin
from tutoring.studies.arm_plans import is_yoked_to, plan_chains
from tutoring.studies.design import parse_frozen
from tutoring.studies.replacement import exclude, record_deviation

WAITING = Q(kind=Arm.Kind.AUTOMATIC) & (Q(run=None) | Q(run__state=Run.State.STOPPED))
"""Automatic arms whose run is not started, or was stopped before its end."""


def waiting_arms(study: Study) -> QuerySet[Arm]:
    """Return the automatic arms of the study whose runs can be started, or resumed while the study has not ended."""
    startable = study.state in Study.OFFERING
    rows = study.arms.filter(WAITING if startable else WAITING & Q(run__isnull=False))
    rows = rows.exclude(held_arms([study]))
    return rows.select_related("model", "run__model", "run__dataset")


def arms_waiting_for_people(study: Study) -> list[str]:
    """Return the names of arms yoked to sessions of the study, while some of these sessions have not ended."""
    return [arm.name for arm in study.arms.filter(held_arms([study]))]


def held_arms(studies: Iterable[Study]) -> Q:
    """Return the condition of automatic arms that wait for sessions of people of their own study. Two queries."""
    offering = {study.pk: study for study in studies if study.state in Study.OFFERING}
    open_studies = Assignment.objects.filter(_OF_PEOPLE, study__in=offering).order_by()
    arms = Arm.objects.filter(kind=Arm.Kind.AUTOMATIC, study__in=open_studies.values("study")).values_list(
        "pk", "study", "settings"
    )
    yoked = [
        pk
        for pk, study, settings in arms
        if is_yoked_to(settings, offering[study].name, offering[study].version)
    ]
    return Q(pk__in=yoked)


def usual_options(arm: Arm) -> RunOptions:
    """Return the options of the arm's run: those that it had, else the price and context length of its model."""
    if arm.run is not None:
        former = RunOptions.of_run(arm.run)
        return former if former.price else replace(former, price=catalogue.price_of(arm.model))
    limits = RateLimits(context_tokens=arm.model.context_tokens)
    return RunOptions(price=catalogue.price_of(arm.model), limits=limits)


_OF_PEOPLE = Q(arm__kind=Arm.Kind.HUMAN, state__in=Assignment.UNFINISHED)
"""Assignments of people that have not ended."""


@dataclass(frozen=True)
class StartArms:
    """An action that starts the runs of all automatic arms that have none, and resumes those that stopped.

    The workers execute them.

    All runs are started, or none. `cost` bounds what each run spends in US dollars, in all; None: no bound but the
    spending caps.
    """

    person: User
    study_id: int
    cost: float | None = None

    def execute(self) -> list[Run]:
        """Return the runs. Raises PermissionDenied or StudyRefusedError."""
        require_admin(self.person)
        study = Study.objects.get(pk=self.study_id)
        refuse_ended(study)
        arms = list(waiting_arms(study))
        if not arms:
            raise StudyRefusedError(
                f"Every automatic arm of {study} has a run that is executed or has ended, or waits until the sessions "
                "of people have ended."
            )
        plans = {arm.pk: plan_arm(study, arm) for arm in arms if arm.run is None}
        try:
            connected_workers()
        except QueueUnavailableError:
            raise StudyRefusedError(
                "No worker can be reached, so no run was started. Start a worker (./run or manage.py worker), or "
                f"execute the runs with: manage.py study run {study.name}"
            ) from None
        with transaction.atomic():
            runs = [self._start(arm, plans.get(arm.pk)) for arm in arms]
        for run in runs:
            with suppress(QueueUnavailableError):  # the sweep of the workers enqueues the run later
                dispatch(run)
        return runs

    def _start(self, arm: Arm, plan: RunPlan | None) -> Run:
        usual = usual_options(arm)
        if self.cost is not None and usual.price is None:
            raise StudyRefusedError(
                f"The price of {arm.model} is unknown, so its cost cannot be limited. Type a price on the model's page."
            )
        options = replace(usual, budget=RunBudget(cost=self.cost), distributed=True)
        try:
            if plan is not None:
                return start_arm(self.study_id, arm.pk, plan, options)
            assert arm.run is not None
            prepare_resume(arm.run, options)
        except CannotRunError as error:
            raise StudyRefusedError(f"Arm {arm.name} cannot run: {error}") from None
        return arm.run


def refuse_ended(study: Study) -> None:
    """Raise StudyRefusedError for a study whose runs are neither started nor resumed."""
    if study.state not in Study.UNFINISHED:
        raise StudyRefusedError(f"{study} is {study.state}. Its runs are neither started nor resumed.")


def plan_arm(study: Study, arm: Arm) -> RunPlan:
    """Return the plan of an arm's run with fresh draws, on the problems whose assignments are not excluded.

    Raises StudyRefusedError.
    """
    frozen = parse_frozen(study.design)
    [design] = [one for one in frozen.design.automatic_arms if one.name == arm.name]
    dataset = Dataset.objects.get(name=frozen.design.problems.dataset)
    planned = arm.assignments.filter(state=Assignment.State.PLANNED).order_by()
    problems = list(planned.values_list("problem__external_id", flat=True).distinct())
    if not problems:
        raise StudyRefusedError(f"Arm {arm.name} cannot run: all of its assignments are excluded.")
    try:
        return plan_chains(design, arm.model, dataset, problems, study)
    except (CannotRunError, SettingsError) as error:
        raise StudyRefusedError(f"Arm {arm.name} cannot run: {error}") from None


def start_arm(study_id: int, arm_id: int, plan: RunPlan, options: RunOptions) -> Run:
    """Store the run of an arm and return it. Assignments without a chain in the run are excluded with a deviation.

    Raises StudyRefusedError if the study has ended or the arm has a run, and CannotRunError.
    """
    with transaction.atomic():
        study = lock_study(study_id)
        arm = Arm.objects.select_related("model").get(pk=arm_id)
        if study.state not in Study.OFFERING:
            raise StudyRefusedError(
                f"{study} is {study.state}. Only a frozen or running study can start runs."
            )
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
    left_out = [f"{one['id']}: {one['reason']}" for one in run.manifest.get("left_out", [])]
    sessions = Counter(run.manifest["prepared"].get(SESSIONS_LEFT_OUT, {}).values())
    left_out += [f"{count} session{'s' if count > 1 else ''}: {reason}" for reason, count in sessions.items()]
    reasons = "; ".join(left_out)
    record_deviation(
        study, Deviation.Kind.OTHER, f"The method leaves out problems of the study. {reasons}".strip(), rows
    )
    exclude(rows, "left out by the method")
