"""Stored growth curves: requests, the worker's side, and the search for lost ones.

A program is measured once with each recipe and version of the judge, on any machine. The row keeps the machine and its
time factor, which multiplies the limit. A job in the queue only points to the row.
"""

import logging

from django.conf import settings
from django.db import transaction
from django.utils import timezone

import judge
from benchmark.growth.measuring import Growth, GrowthError, MeasuredProgram, measure
from benchmark.growth.sizes import growth_recipe
from benchmark.jobs import RowJobs, late_or_lost
from benchmark.judging import AppliedFactor, applied_factor, pause_for_executions, program_files
from benchmark.models import GrowthCurve, Submission
from benchmark.models.leases import renewing
from benchmark.models.owners import new_owner

logger = logging.getLogger(__name__)

QUEUE = "background"
"""The queue that workers serve after runs."""

MAXIMUM_ATTEMPTS = 3
"""Maximum number of claims of one curve, after which it counts as not measurable."""

_JOBS = RowJobs("benchmark.growth.perform_curve", "growth")


def request_curve(submission: Submission) -> GrowthCurve:
    """Return the curve of the program, a new row if it was not requested before. The caller enqueues or performs it.

    Raises NoSizesError.
    """
    curve, _ = GrowthCurve.objects.get_or_create(
        submission=submission,
        recipe_hash=growth_recipe(submission.problem).hash,
        judge_version=judge.JUDGE_VERSION,
    )
    return curve


def measured_curve(submission: Submission) -> GrowthCurve:
    """Return the curve of the program, measured in this process unless another one measures it now.

    Raises NoSizesError.
    """
    curve = request_curve(submission)
    perform_curve(curve.pk)
    curve.refresh_from_db()
    return curve


def growth_of(curve: GrowthCurve) -> Growth | None:
    """Return the measured growth; None before the measurement, and for a program that cannot be measured."""
    return Growth.from_json(curve.points) if curve.points else None


def enqueue_curve(curve: GrowthCurve) -> None:
    """Put a job for an unfinished curve into the queue once the surrounding transaction is committed."""
    if curve.state == GrowthCurve.State.QUEUED:
        transaction.on_commit(lambda: _JOBS.enqueue(curve.pk, QUEUE))


def requeue_lost_curves() -> None:
    """Put a job into the queue for each unfinished curve without a worker or a job. Raises redis.RedisError."""
    _JOBS.enqueue_missing(late_or_lost(GrowthCurve.objects.all()).values_list("pk", flat=True), QUEUE)


def perform_curve(curve_id: int) -> None:
    """Claim the curve, measure its program, and store the result.

    Does nothing if the curve is finished or another process holds it.
    """
    curve = _claim(curve_id)
    if curve is None:
        return
    try:
        with renewing(curve.claimed()):
            applied = _factor_of(curve.submission)
            growth = _measure(curve.submission, applied.factor)
    except (GrowthError, judge.ToolMissingError, judge.UnknownLanguageError) as error:
        _fail(curve, str(error))
    except Exception as error:
        logger.exception("growth %s failed", curve_id)
        if curve.attempt < MAXIMUM_ATTEMPTS:
            curve.claimed().release()
        else:
            _fail(curve, f"{type(error).__name__}: {error}")
    except BaseException:  # this process must end: another one may start at once
        curve.claimed().release()
        raise
    else:
        steepest = growth.steepest
        slopes = {}
        if steepest.fit is not None:
            fit = steepest.fit
            slopes = {"slope": fit.slope, "slope_low": fit.low, "slope_high": fit.high}
        curve.end(
            GrowthCurve.State.DONE,
            points=growth.to_json(),
            parameter=steepest.parameter,
            host=applied.host,
            time_factor=applied.factor,
            finished_at=timezone.now(),
            **slopes,
        )


def _claim(curve_id: int) -> GrowthCurve | None:
    with transaction.atomic():
        if GrowthCurve.claim_one(curve_id, new_owner(), timezone.now()) is None:
            return None
        curve = GrowthCurve.objects.select_related("submission__problem__dataset").get(pk=curve_id)
    if curve.attempt > MAXIMUM_ATTEMPTS:
        _fail(curve, f"given up after {MAXIMUM_ATTEMPTS} workers were lost while measuring it")
        return None
    return curve


def _fail(curve: GrowthCurve, fault: str) -> None:
    curve.end(GrowthCurve.State.FAILED, fault=fault, finished_at=timezone.now())


def limits_of(submission: Submission) -> judge.Limits:
    """Return the scaled limits of the program's problem in its language, with the time factor of this machine today."""
    return _limits(submission, _factor_of(submission).factor)


def _factor_of(submission: Submission) -> AppliedFactor:
    return applied_factor(submission.problem.dataset, judge.Policy.FAIR, scope="")


def _limits(submission: Submission, time_factor: float) -> judge.Limits:
    problem = submission.problem
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    multipliers = settings.JUDGE_TIME_MULTIPLIERS
    return judge.limits_for(limits, submission.language, judge.Policy.FAIR, multipliers, time_factor)


def _measure(submission: Submission, time_factor: float) -> Growth:
    problem = submission.problem
    files = program_files(problem, submission.source, submission.language)
    return measure(
        MeasuredProgram(files, submission.language),
        growth_recipe(problem),
        _limits(submission, time_factor),
        pause=pause_for_executions,
    )
