"""Judging of stored problems: a row requests a judgement, a worker performs it, and the row holds the result."""

from benchmark.judging.fair_share import EXECUTIONS, executions_before, in_progress, share_of_a_person
from benchmark.judging.machine_speed import (
    AppliedFactor,
    applied_factor,
    factors_of_run,
    fix_factor,
    measure_machine,
    refresh_measurement,
    scope_of_run,
    scope_of_tests,
)
from benchmark.judging.performing import MAXIMUM_ATTEMPTS, judgement_finished, perform, perform_waiting
from benchmark.judging.problem_tests import WHOLE_OUTPUT, checker_for, judge_tests, program_files
from benchmark.judging.requests import (
    SCORES,
    copy_of,
    copy_stored_verdict,
    enqueue,
    has_applied_limits,
    lost_judgements,
    request_judgement,
    requeue_lost,
    source_hash,
    store_submission,
)

__all__ = [
    "EXECUTIONS",
    "MAXIMUM_ATTEMPTS",
    "SCORES",
    "WHOLE_OUTPUT",
    "AppliedFactor",
    "applied_factor",
    "checker_for",
    "copy_of",
    "copy_stored_verdict",
    "enqueue",
    "executions_before",
    "factors_of_run",
    "fix_factor",
    "has_applied_limits",
    "in_progress",
    "judge_tests",
    "judgement_finished",
    "lost_judgements",
    "measure_machine",
    "perform",
    "perform_waiting",
    "program_files",
    "refresh_measurement",
    "request_judgement",
    "requeue_lost",
    "scope_of_run",
    "scope_of_tests",
    "share_of_a_person",
    "source_hash",
    "store_submission",
]
