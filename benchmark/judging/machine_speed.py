"""Time factors of machines: measured, quantized, and fixed for each machine and scope.

A scope is a run, a study with all its sessions and runs, a test suite, or a day (UTC) for everything else. Judgements
of one scope are comparable, because each machine applies one factor to all of them.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

import judge
from benchmark.models import Dataset, Judgement, Problem, Run, SpeedMeasurement, Suite, TimeFactor
from judge import Policy

logger = logging.getLogger(__name__)

_LIFETIME = timedelta(hours=1)
"""Age at which a measurement is replaced."""


@dataclass(frozen=True)
class AppliedFactor:
    """The factor that multiplies a problem's scaled time limit on this machine.

    `measured` is the measured factor of the machine, None if the machine cannot be measured.
    """

    host: str
    measured: float | None
    factor: float


def scope_of_run(run: Run) -> str:
    """Return the scope of a run: that of its study if it belongs to one."""
    return run.study_key or f"run:{run.pk}"


def scope_of_tests(problem: Problem, suite: Suite | None) -> str:
    """Return the scope of judgements that validate a suite, or the imported tests of a problem."""
    return f"problem:{problem.pk}" if suite is None else f"suite:{suite.pk}"


def measure_machine() -> SpeedMeasurement | None:
    """Measure this machine and store the result. Returns None if no reference program can run."""
    try:
        speed = judge.measure_speed()
    except (judge.SandboxUnavailableError, judge.SandboxFaultError, judge.ToolMissingError) as error:
        logger.warning("the speed of this machine is unknown: %s", error)
        return None
    return SpeedMeasurement.objects.create(
        host=speed.host, factor=speed.factor, spread=speed.spread, times=speed.times
    )


def refresh_measurement() -> SpeedMeasurement | None:
    """Return the latest measurement of this machine; measure it first if there is none of the last hour."""
    latest = SpeedMeasurement.objects.filter(host=judge.host_name()).order_by("-measured_at").first()
    if latest is not None and timezone.now() - latest.measured_at < _LIFETIME:
        return latest
    return measure_machine()


def fix_factor(scope: str) -> TimeFactor | None:
    """Return the factor of this machine in the scope; fix it first if it is not fixed yet.

    `scope` "" stands for the current day. Returns None if the machine cannot be measured.
    """
    host = judge.host_name()
    scope = scope or f"day:{timezone.now().date().isoformat()}"
    if fixed := TimeFactor.objects.filter(scope=scope, host=host).first():
        return fixed
    measurement = refresh_measurement()
    if measurement is None:
        return None
    last = TimeFactor.objects.filter(host=host).order_by("-fixed_at", "-pk").first()
    factor = judge.quantized_factor(measurement.factor, last.factor if last else None)
    # Another process may fix it at the same time: the first one decides.
    fixed, _ = TimeFactor.objects.get_or_create(
        scope=scope, host=host, defaults={"factor": factor, "measured": measurement.factor}
    )
    return fixed


def applied_factor(dataset: Dataset, policy: str, scope: str) -> AppliedFactor:
    """Return the factor of a dataset's time limits under the policy on this machine, in the scope.

    It is the product of the machine's and the dataset's factor under `fair`, and 1 under `compat`.
    """
    fixed = fix_factor(scope)
    machine = fixed.factor if fixed else 1.0
    factor = machine * dataset.time_factor if policy == Policy.FAIR else 1.0
    return AppliedFactor(judge.host_name(), fixed.measured if fixed else None, factor)


def factors_of_run(run: Run) -> list[float]:
    """Return the factors of the time limits that machines have applied to judgements in the scope of a run."""
    return _factors_in(scope_of_run(run), run.dataset, run.parameters.get("policy", ""))


def factors_of_scope(judgement: Judgement) -> list[float]:
    """Return the factors that machines have applied to judgements in the scope of a requested one."""
    dataset = judgement.submission.problem.dataset
    return _factors_in(judgement.speed_scope, dataset, judgement.policy)


def _factors_in(scope: str, dataset: Dataset, policy: str) -> list[float]:
    if policy != Policy.FAIR:
        return [1.0]
    fixed = TimeFactor.objects.filter(scope=scope).values_list("factor", flat=True)
    return [machine * dataset.time_factor for machine in fixed.distinct()]


def factor_for(judgement: Judgement) -> AppliedFactor:
    """Return the factor that this machine applies to a requested judgement."""
    dataset = judgement.submission.problem.dataset
    return applied_factor(dataset, judgement.policy, judgement.speed_scope)
