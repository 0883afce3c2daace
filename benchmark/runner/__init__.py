"""Runs: plans, cost estimates, execution, and resumption after an interruption."""

from benchmark.runner.answer_judging import judge_answers, unjudged_answers
from benchmark.runner.distribution import QueueUnavailableError, connected_workers, dispatch, monitor
from benchmark.runner.estimate import (
    RUN_ASSUMPTIONS,
    TUTOR_ASSUMPTIONS,
    Estimate,
    estimate,
    estimate_from_pilot,
)
from benchmark.runner.execution import execute
from benchmark.runner.judges import cores
from benchmark.runner.plan import (
    CannotRunError,
    Draws,
    RunOptions,
    RunPlan,
    RunScope,
    check_judge,
    check_own,
    plan_like,
    plan_run,
    prepare_resume,
    start_run,
)
from benchmark.runner.progress import ExecutionProgress

__all__ = [
    "RUN_ASSUMPTIONS",
    "TUTOR_ASSUMPTIONS",
    "CannotRunError",
    "Draws",
    "Estimate",
    "ExecutionProgress",
    "QueueUnavailableError",
    "RunOptions",
    "RunPlan",
    "RunScope",
    "check_judge",
    "check_own",
    "connected_workers",
    "cores",
    "dispatch",
    "estimate",
    "estimate_from_pilot",
    "execute",
    "judge_answers",
    "monitor",
    "plan_like",
    "plan_run",
    "prepare_resume",
    "start_run",
    "unjudged_answers",
]
