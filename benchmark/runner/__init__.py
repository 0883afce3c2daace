"""Runs: planning one, estimating its cost, carrying it out, and carrying on with one that was cut off."""

from benchmark.runner.estimate import ASSUMED, Estimate, Price, estimate
from benchmark.runner.execution import Progress, Stop, execute
from benchmark.runner.plan import CannotRun, Plan, plan_like, plan_run, prepare_resume, start_run

__all__ = [
    "ASSUMED",
    "CannotRun",
    "Estimate",
    "Plan",
    "Price",
    "Progress",
    "Stop",
    "estimate",
    "execute",
    "plan_like",
    "plan_run",
    "prepare_resume",
    "start_run",
]
