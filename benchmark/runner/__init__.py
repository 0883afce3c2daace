"""Runs: planning one, estimating its cost, carrying it out, and carrying on with one that was cut off."""

from benchmark.runner.answers import judge_answers, unjudged_answers
from benchmark.runner.distribution import QueueUnavailable, dispatch, monitor
from benchmark.runner.estimate import ASSUMED, Estimate, estimate, rescaled
from benchmark.runner.execution import Progress, execute
from benchmark.runner.judges import cores
from benchmark.runner.plan import (
    CannotRun,
    Draws,
    Plan,
    Terms,
    check_judge,
    plan_like,
    plan_run,
    prepare_resume,
    start_run,
)

__all__ = [
    "ASSUMED",
    "CannotRun",
    "Draws",
    "Estimate",
    "Plan",
    "Progress",
    "QueueUnavailable",
    "Terms",
    "check_judge",
    "cores",
    "dispatch",
    "estimate",
    "execute",
    "judge_answers",
    "monitor",
    "plan_like",
    "plan_run",
    "prepare_resume",
    "rescaled",
    "start_run",
    "unjudged_answers",
]
