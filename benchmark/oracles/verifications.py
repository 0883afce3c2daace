"""What verifiers in the database say of programs, found once, and the smallest inputs on which those fail."""

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
"""Failed tests of a program that are stored with their texts, those with the shortest inputs."""

_KEPT_CHARACTERS = 10_000

_MINIMIZING_SECONDS = 1.0
"""CPU seconds of oracle and program together for making one input smaller, less what asking the oracle twice took."""

_MINIMUM_MINIMIZING_SECONDS = 0.3


class NoVerifierError(Exception):
    """The problem has no verifier that was built; the message says how to build one."""


def candidate_program(problem: Problem, submission: Submission) -> RunnableProgram:
    """A candidate as it is run."""
    signature = signature_of(problem)
    if signature is None:
        return Standalone(submission.source, submission.language)
    return Function(submission.source, signature)


def latest_verifier(problem: Problem, *, before: Any = None) -> Verifier:
    """The problem's newest verifier that was built, of those made before a time if one is given. Raises NoVerifierError."""
    built: QuerySet[Verifier] = problem.verifiers.exclude(state=Verifier.State.PROGRAMS)
    if before is not None:
        built = built.filter(created_at__lte=before)
    found = built.select_related("suite", "problem").first()
    if found is None:
        raise NoVerifierError(
            f"{problem} has no verifier{' from before the run began' if before else ''}. "
            f"Build it: manage.py build_verifier --dataset {problem.dataset.name} --problems {problem.external_id}"
        )
    return found


def verification_of(verifier: Verifier, submission: Submission, *, minimized: bool = False) -> Verification:
    """What the verifier says of the program. With `minimized` also its smallest failing input that was found.

    The samples count with the statement's answers, the other tests with the oracle's (docs/spec.md 15). Raises
    SandboxFault and SandboxUnavailable.
    """
    stored = Verification.objects.filter(verifier=verifier, submission=submission).first()
    if stored is None:
        stored = _verify(verifier, submission)
    if minimized and stored.minimal is None and stored.failures:
        stored.minimal = _minimal(verifier, submission, stored)
        stored.save(update_fields=["minimal"])
    return stored


def smallest_failures(said: Verification) -> list[dict[str, Any]]:
    """Return the failures that are known, the shortest inputs first, the smallest one that was found among them.

    Rows of older versions keep their order, since prompts were made of it.
    """
    if said.outcomes is None:
        return list(said.failures)
    known = {one["input"]: one for one in [*([said.minimal] if said.minimal else []), *said.failures]}
    return sorted(known.values(), key=lambda one: len(one["input"]))


def add_outcomes(said: Verification) -> None:
    """Try the program of a row that an older version stored again, to learn which tests it passes.

    Raises SandboxFault and SandboxUnavailable.
    """
    if said.outcomes is None:
        program = candidate_program(said.verifier.problem, said.submission)
        _, said.outcomes = _tried(program, said.verifier)
        said.save(update_fields=["outcomes"])


def _tried(program: RunnableProgram, verifier: Verifier) -> tuple[CaseResults, dict[str, str]]:
    """Return what samples and suite say of the program, and which tests of each kind it passes."""
    checker = judge.Checker.from_json(verifier.problem.checker)
    cases, written = all_cases(verifier), written_cases(verifier)
    said = verify(program, cases, checker, _budget_of(program, verifier, len(cases)))
    by_written = verify(program, written, checker, _budget_of(program, verifier, len(written)))
    failed = {id(failure.case) for failure in (*said.failures, *by_written.failures)}

    def passes(tried: Iterable[Case]) -> str:
        return "".join("01"[id(case) not in failed] for case in tried)

    return said, {
        "samples": passes(case for case in cases if case.sample),
        "tests": passes(case for case in cases if not case.sample),
        "written": passes(written),
    }


def _verify(verifier: Verifier, submission: Submission) -> Verification:
    program = candidate_program(verifier.problem, submission)
    said, outcomes = _tried(program, verifier)
    shortest = sorted(said.failures, key=lambda failure: len(failure.case.input))
    stored, _ = Verification.objects.get_or_create(
        verifier=verifier,
        submission=submission,
        defaults={
            "samples_passed": said.samples_passed,
            "accepted": said.accepted,
            "passed": said.passed,
            "total": said.total,
            "slow": too_slow(program, verifier) if said.accepted else 0,
            "output_hash": said.signature,
            "outcomes": outcomes,
            "failures": [_failure(one) for one in shortest[:KEPT_FAILURES]],
        },
    )
    return stored


def too_slow(program: RunnableProgram, verifier: Verifier) -> int:
    """On how many stress inputs the program passes the problem's time limit; no more are tried than take so long."""
    limit = max(1, round(verifier.problem.time_limit))
    stress = [load_blob(one) for one in verifier.record.get("stress", [])]
    answers = run_on(program, stress, CpuBudget(limit, limit))
    return sum(answer.fault == "TLE" and answer.seconds >= limit for answer in answers)


def _budget_of(program: RunnableProgram, verifier: Verifier, cases: int) -> CpuBudget:
    """A candidate's: one and a half inputs without end, or 5/4 of the oracle's time; half a second for each start."""
    each = verifier.record.get("recipe", {}).get("oracle_seconds", InputRecipe.oracle_seconds)
    starting = cases / 2 if isinstance(program, Standalone) else 0
    return CpuBudget(each, max(1.5 * each, 1.25 * verifier.record.get("answered_in", 0)) + starting)


def all_cases(verifier: Verifier) -> list[Case]:
    """Everything a candidate is tried on: the samples, then the tests of the suite."""
    tests = verifier.suite.tests.all() if verifier.suite else SuiteTest.objects.none()
    return [*samples_of(verifier.problem), *cases_of(tests)]


def written_cases(verifier: Verifier) -> list[Case]:
    """Return the tests whose answers the model wrote itself."""
    return [
        Case(f"written-{number}", load_blob(one["input"]), load_blob(one["answer"]))
        for number, one in enumerate(verifier.record.get("written_tests", []), 1)
    ]


def measure_coverage(verifier: Verifier, submission: Submission) -> dict[str, float]:
    """Return the shares of the program's statements that the samples reach, and that all tests reach.

    Raises ValueError for a program that is not in Python or does not compile, SandboxFault and SandboxUnavailable.
    """
    cases = all_cases(verifier)
    program = candidate_program(verifier.problem, submission)
    reached = reached_statements(program, [case.input for case in cases])
    samples = sum(case.sample for case in cases)  # they come first
    return {"samples": reached.coverage(samples), "all": reached.coverage()}


def _minimal(verifier: Verifier, submission: Submission, stored: Verification) -> dict[str, str] | None:
    """Return the smallest input found on which program and oracle differ; None if no test but samples fails.

    It is made from the shortest failing test that is no sample, and the oracle is asked it twice.
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
    ).cases  # tests of the suite were asked twice before
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
