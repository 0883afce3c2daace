"""Operations of a chain's program tester: functions from JSON to JSON that run programs.

A process that may run programs calls them itself. Any other process requests a row, and a judge worker performs it.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import structlog
from django.db.models import QuerySet
from django.utils import timezone

import judge
from benchmark import judging
from benchmark.growth import compare, difference_of, measured_curve
from benchmark.jobs import RowJobs
from benchmark.models import ProgramOperation, Submission, WorkItem
from benchmark.models.leases import renewing
from benchmark.models.owners import new_owner
from benchmark.oracles import store, verifications
from benchmark.oracles.inputs import InputRecipe, accepts_all, makes_valid_inputs, written_tests
from benchmark.oracles.programs import VerifierPrograms

logger = structlog.get_logger(__name__)

Programs = dict[str, str]
"""A `VerifierPrograms` as JSON."""

QUEUE = "default"
"""The queue of the runs' programs, which judge workers serve after that of the tutors."""

MAXIMUM_ATTEMPTS = 3
"""Claims of one operation before it fails."""

_JOBS = RowJobs("benchmark.runner.program_operations.perform", "program-operation")


def oracle_fault(item: WorkItem, _language: str, program: str) -> str:
    """Return why the program is not a valid oracle; blank for a valid one."""
    return store.oracle_fault(item.problem, program)


def validator_works(item: WorkItem, _language: str, programs: Programs) -> bool:
    """Return whether the validator accepts the inputs of all samples."""
    inputs = [case.input for case in store.samples_of(item.problem)]
    return accepts_all(store.input_functions_of(item.problem, VerifierPrograms(**programs)), inputs)


def makes_inputs(item: WorkItem, _language: str, programs: Programs, kind: str) -> bool:
    """Return whether the function of this kind (generator, batch or tricky) generates a valid input."""
    function, cap, several = {
        "generator": ("gen_input", 0, False),
        "batch": ("random_test", InputRecipe.caps[0], True),
        "tricky": ("special_tricky_test_inputs", 0, True),
    }[kind]
    functions = store.input_functions_of(item.problem, VerifierPrograms(**programs))
    return makes_valid_inputs(functions, function, cap, several=several)


def writes_tests(item: WorkItem, _language: str, programs: Programs) -> bool:
    """Return whether the function for tests with answers returns any."""
    return bool(written_tests(store.input_functions_of(item.problem, VerifierPrograms(**programs))))


def build(
    item: WorkItem, _language: str, programs: Programs, recipe: dict[str, Any], rejected: list[str]
) -> None:
    """Store the verifier: inputs, the oracle's answers, and their suite."""
    made = InputRecipe(**recipe | {"caps": tuple(recipe["caps"])})
    store.build(item.problem, VerifierPrograms(**programs), made, item.run, rejected)


def score(item: WorkItem, language: str, program: str) -> dict[str, Any]:
    """Return the score of the program by the problem's verifier. Raises NoVerifierError."""
    verifier = verifications.latest_verifier(item.problem, before=item.run.started_at)
    found = verifications.verification_of(verifier, _submission(item, language, program), minimized=True)
    cases = [
        {name: one[name] for name in ("input", "expected", "output", "fault")}
        for one in verifications.smallest_failures(found)
    ]
    return {
        "passed": found.passed,
        "samples_passed": found.samples_passed,
        "accepted": found.accepted,
        "cases": cases,
    }


def growth(item: WorkItem, language: str, program: str) -> int:
    """Return the id of the program's growth curve, which is unfinished while another process measures it."""
    return measured_curve(_submission(item, language, program)).pk


def difference(item: WorkItem, language: str, slow: str, program: str) -> dict[str, str] | None:
    """Return a small input on which the program differs from a slow one; None without any."""
    comparison = compare(_submission(item, language, slow), _submission(item, language, program))
    found = difference_of(comparison) if comparison else None
    return asdict(found) if found else None


OPERATIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        oracle_fault,
        validator_works,
        makes_inputs,
        writes_tests,
        build,
        score,
        growth,
        difference,
    )
}


def _submission(item: WorkItem, language: str, program: str) -> Submission:
    return judging.store_submission(item.problem, program, language)


def perform(operation_id: int) -> None:
    """Claim the operation, perform it and store its result. Does nothing if another process holds or ended it."""
    if ProgramOperation.claim_one(operation_id, new_owner(), timezone.now()) is None:
        return
    rows = ProgramOperation.objects.select_related("item__problem__dataset", "item__run")
    operation = rows.get(pk=operation_id)
    try:
        with renewing(operation.claimed()):
            result = OPERATIONS[operation.name](operation.item, operation.language, **operation.arguments)
    except Exception as error:
        if operation.attempt < MAXIMUM_ATTEMPTS and isinstance(error, judge.SandboxFaultError):
            operation.claimed().release()
            return
        logger.exception("program operation failed", operation=operation_id, item=operation.item_id)
        operation.end(ProgramOperation.State.FAILED, fault=f"{type(error).__name__}: {error}")
    except BaseException:  # this process must end: another one may begin at once
        operation.claimed().release()
        raise
    else:
        operation.end(ProgramOperation.State.DONE, result=result)


def enqueue(operation: ProgramOperation) -> None:
    """Put a job for the operation into the queue."""
    _JOBS.enqueue(operation.pk, QUEUE)


def enqueue_missing(operations: QuerySet[ProgramOperation]) -> None:
    """Put a job into the queue for each of the operations that has none. Raises redis.RedisError."""
    _JOBS.enqueue_missing(operations.values_list("pk", flat=True), QUEUE)
