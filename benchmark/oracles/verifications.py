"""Verifications of programs by stored verifiers, computed once, and minimized failing inputs."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

import judge
from benchmark.models import Problem, Submission, SuiteTest, Verification, Verifier
from benchmark.oracles.inputs import InputRecipe, valid_only
from benchmark.oracles.minimizing import minimize
from benchmark.oracles.quality import reached_statements
from benchmark.oracles.running import NO_TIME_LEFT, CpuBudget, Function, RunnableProgram, Standalone, run_on
from benchmark.oracles.store import (
    cases_of,
    input_functions_of,
    load_blob,
    oracle_program,
    programs_of,
    samples_of,
    signature_of,
)
from benchmark.oracles.verifying import Case, CaseResults, FailedCase, check_answers, label, verify

KEPT_FAILURES = 10
"""Number of stored failures of a program with their texts, the shortest inputs first."""

_KEPT_CHARACTERS = 10_000

_MINIMIZING_SECONDS = 1.0
"""CPU seconds of oracle and program together to minimize an input, minus the time of the oracle's second answers."""

_MINIMUM_MINIMIZING_SECONDS = 0.3


class NoVerifierError(Exception):
    """A problem without a built verifier; the message states how to build one."""


def candidate_program(problem: Problem, submission: Submission) -> RunnableProgram:
    """Return a candidate as a program to run."""
    signature = signature_of(problem)
    if signature is None:
        return Standalone(submission.source, submission.language)
    return Function(submission.source, signature)


def latest_verifier(problem: Problem, *, before: Any = None) -> Verifier:
    """Return the problem's newest built verifier, created before a time if given. Raises NoVerifierError."""
    built: QuerySet[Verifier] = problem.verifiers.exclude(state=Verifier.State.PROGRAMS)
    if before is not None:
        built = built.filter(created_at__lte=before)
    found = built.select_related("suite", "problem").first()
    if found is None:
        raise NoVerifierError(
            f"{problem} has no verifier{' built before the run started' if before else ''}. "
            f"Build it: manage.py build_verifier --dataset {problem.dataset.name} --problems {problem.external_id}"
        )
    return found


def verification_of(verifier: Verifier, submission: Submission, *, minimized: bool = False) -> Verification:
    """Return the verifier's verification of the program; with `minimized`, also a minimized failing input.

    Samples use the statement's answers, other tests the oracle's (docs/spec.md 15). Raises SandboxFaultError and
    SandboxUnavailableError.
    """
    stored = Verification.objects.filter(verifier=verifier, submission=submission).first()
    if stored is None:
        stored = _verify(verifier, submission)
    if minimized and stored.minimal is None and stored.failures:
        stored.minimal = _minimal(verifier, submission, stored)
        stored.save(update_fields=["minimal"])
    return stored


def smallest_failures(verification: Verification) -> list[dict[str, Any]]:
    """Return the known failures, including the minimized one, sorted by the length of their inputs.

    Rows of older versions keep their order, because existing prompts depend on it.
    """
    if verification.outcomes is None:
        return list(verification.failures)
    known = {
        one["input"]: one
        for one in [*([verification.minimal] if verification.minimal else []), *verification.failures]
    }
    return sorted(known.values(), key=lambda one: len(one["input"]))


def add_outcomes(verification: Verification) -> None:
    """Run the program of an older row again to store which tests it passes.

    Raises SandboxFaultError and SandboxUnavailableError.
    """
    if verification.outcomes is None:
        program = candidate_program(verification.verifier.problem, verification.submission)
        _, verification.outcomes = _tried(program, verification.verifier)
        verification.save(update_fields=["outcomes"])


def _tried(program: RunnableProgram, verifier: Verifier) -> tuple[CaseResults, dict[str, str]]:
    """Return the results on samples and suite, and the outcomes by kind of test."""
    checker = judge.Checker.from_json(verifier.problem.checker)
    cases, written = all_cases(verifier), written_cases(verifier)
    results = verify(program, cases, checker, _budget_of(program, verifier, len(cases)))
    by_written = verify(program, written, checker, _budget_of(program, verifier, len(written)))
    failed = {id(failure.case) for failure in (*results.failures, *by_written.failures)}

    def passes(tried: Iterable[Case]) -> str:
        return "".join("01"[id(case) not in failed] for case in tried)

    return results, {
        "samples": passes(case for case in cases if case.sample),
        "tests": passes(case for case in cases if not case.sample),
        "written": passes(written),
    }


def _verify(verifier: Verifier, submission: Submission) -> Verification:
    program = candidate_program(verifier.problem, submission)
    results, outcomes = _tried(program, verifier)
    shortest = sorted(results.failures, key=lambda failure: len(failure.case.input))
    stored, _ = Verification.objects.get_or_create(
        verifier=verifier,
        submission=submission,
        defaults={
            "samples_passed": results.samples_passed,
            "accepted": results.accepted,
            "passed": results.passed,
            "total": results.total,
            "slow": too_slow(program, verifier) if results.accepted else 0,
            "output_hash": results.signature,
            "outcomes": outcomes,
            "failures": [_failure(one) for one in shortest[:KEPT_FAILURES]],
        },
    )
    return stored


def too_slow(program: RunnableProgram, verifier: Verifier) -> int:
    """Return the number of stress inputs on which the program exceeds the problem's time limit.

    Stops after one time limit of CPU time.
    """
    limit = max(1, round(verifier.problem.time_limit))
    stress = [load_blob(one) for one in verifier.record.get("stress", [])]
    answers = run_on(program, stress, CpuBudget(limit, limit))
    return sum(answer.fault == "TLE" and answer.seconds >= limit for answer in answers)


def _budget_of(program: RunnableProgram, verifier: Verifier, cases: int) -> CpuBudget:
    """Return a candidate's budget: 1.5 timeouts or 5/4 of the oracle's time, plus 0.5 s for each process start."""
    each = verifier.record.get("recipe", {}).get("oracle_seconds", InputRecipe.oracle_seconds)
    starting = cases / 2 if isinstance(program, Standalone) else 0
    return CpuBudget(each, max(1.5 * each, 1.25 * verifier.record.get("answered_in", 0)) + starting)


def all_cases(verifier: Verifier) -> list[Case]:
    """Return all cases for candidates: the samples, then the tests of the suite."""
    tests = verifier.suite.tests.all() if verifier.suite else SuiteTest.objects.none()
    return [*samples_of(verifier.problem), *cases_of(tests)]


def written_cases(verifier: Verifier) -> list[Case]:
    """Return the tests whose answers the model wrote."""
    return [
        Case(f"written-{number}", load_blob(one["input"]), load_blob(one["answer"]))
        for number, one in enumerate(verifier.record.get("written_tests", []), 1)
    ]


def measure_coverage(verifier: Verifier, submission: Submission) -> dict[str, float]:
    """Return the shares of the program's statements that the samples reach, and that all tests reach.

    Raises ValueError for a program that is not in Python or does not compile, SandboxFaultError and
    SandboxUnavailableError.
    """
    cases = all_cases(verifier)
    program = candidate_program(verifier.problem, submission)
    reached = reached_statements(program, [case.input for case in cases])
    samples = sum(case.sample for case in cases)  # the samples are first
    return {"samples": reached.coverage(samples), "all": reached.coverage()}


def _minimal(verifier: Verifier, submission: Submission, stored: Verification) -> dict[str, str] | None:
    """Return a minimized input on which program and oracle differ; None if the program fails samples only.

    It starts from the shortest failing test that is not a sample. The oracle must give the same answer twice.
    """
    failing = [one for one in stored.failures if not one["sample"] and not one["cut"]]
    if not failing:
        return None
    problem = verifier.problem
    checker = judge.Checker.from_json(problem.checker)
    program = candidate_program(problem, submission)
    oracle = oracle_program(problem, verifier.oracle)
    functions = input_functions_of(problem, programs_of(verifier))
    found: dict[str, dict[str, str]] = {one["input"]: one for one in failing}
    left = max(_MINIMUM_MINIMIZING_SECONDS, _MINIMIZING_SECONDS - verifier.record.get("confirmed_in", 0))

    def fails(inputs: list[str]) -> list[bool]:
        nonlocal left
        valid = valid_only(functions, inputs)
        expected = run_on(oracle, valid, CpuBudget(1, left))
        left -= sum(answer.seconds for answer in expected)
        cases = [
            Case("", text, answer.output)
            for text, answer in zip(valid, expected, strict=True)
            if answer.output is not None
        ]
        answers = run_on(program, [case.input for case in cases], CpuBudget(1, left))
        left -= sum(answer.seconds for answer in answers)
        for case, answer, right in zip(cases, answers, check_answers(cases, answers, checker), strict=True):
            if not right and answer.fault != NO_TIME_LEFT:
                found[case.input] = _failure(FailedCase(case, answer.output or "", answer.fault or "WA"))
        return [text in found for text in inputs]

    shortest = min(found, key=len)
    smallest = minimize(shortest, fails, values=problem.signature is not None)
    twice = label(
        oracle, [smallest], CpuBudget(1), checker=checker
    ).cases  # the oracle has already confirmed tests of the suite
    return found[smallest if twice else shortest]


def _failure(failure: FailedCase) -> dict[str, Any]:
    texts = {"input": failure.case.input, "expected": failure.case.answer, "output": failure.output}
    shown = {name: text[:_KEPT_CHARACTERS].replace("\0", "\ufffd") for name, text in texts.items()}
    return {
        "name": failure.case.name,
        "sample": failure.case.sample,
        "fault": failure.fault,
        "cut": any(len(text) > _KEPT_CHARACTERS for text in texts.values()),
        **shown,
    }
