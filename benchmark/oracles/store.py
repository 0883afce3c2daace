"""Verifiers in the database: building one from programs, and what one says of a program, found once."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

import judge
from benchmark import blobs
from benchmark.functional import Signature
from benchmark.models import Problem, Run, Submission, Suite, SuiteTest, TestCase, Verification, Verifier
from benchmark.oracles.inputs import MadeInputs, Parts, Recipe, make_inputs, valid_only
from benchmark.oracles.programs import VerifierPrograms
from benchmark.oracles.quality import coverage, reached_lines
from benchmark.oracles.running import Function, Program, Standalone, run_on
from benchmark.oracles.shrinking import shrink
from benchmark.oracles.verifying import ORACLE_SECONDS, Case, Failure, Labelled, label, rule, verify

KEPT_FAILURES = 10
"""Failed tests of a program that are remembered with their texts."""

_KEPT_CHARACTERS = 10_000


class NoVerifier(Exception):
    """The problem has no verifier that was built; the message says how to build one."""


def signature_of(problem: Problem) -> Signature | None:
    """The method that the problem asks for, None where programs read standard input."""
    return Signature.from_json(problem.signature) if problem.signature else None


def samples_of(problem: Problem) -> list[Case]:
    """The samples of the statement with its outputs."""
    return _cases(problem.tests.filter(origin=TestCase.Origin.SAMPLE), sample=True)


def oracle_program(problem: Problem, source: str) -> Function:
    """An oracle as it is run: its method, or its function `solution`."""
    return Function(source, signature_of(problem))


def candidate_program(problem: Problem, submission: Submission) -> Program:
    """A candidate as it is run."""
    signature = signature_of(problem)
    if signature is None:
        return Standalone(submission.source, submission.language)
    return Function(submission.source, signature)


def oracle_passes(problem: Problem, source: str) -> bool:
    """Whether it answers every sample of the statement rightly; also where there is none. Raises SandboxFault."""
    checker = judge.Checker.from_json(problem.checker)
    return verify(oracle_program(problem, source), samples_of(problem), checker).accepted


def parts_of(problem: Problem, programs: VerifierPrograms) -> Parts:
    """What makes the inputs."""
    return Parts(
        signature_of(problem), programs.validator, programs.generator, programs.batch, programs.tricky
    )


def build(
    problem: Problem,
    programs: VerifierPrograms,
    recipe: Recipe,
    *,
    run: Run | None = None,
    imported: Verifier | None = None,
) -> Verifier:
    """The verifier of these programs with its suite; that of the run, or built from the imported one, if there is one.

    Raises SandboxFault and SandboxUnavailable, and then nothing was stored.
    """
    stored = Verifier.objects.filter(problem=problem, run=run, built_from=imported).first()
    if stored is not None and (run or imported):
        return stored
    made, labelled = MadeInputs(()), Labelled(())
    if programs.oracle:
        made = make_inputs(parts_of(problem, programs), recipe)
        second = oracle_program(problem, programs.second_oracle) if programs.second_oracle else None
        labelled = label(oracle_program(problem, programs.oracle), [one.text for one in made.kept], second)
    state = (
        Verifier.State.READY
        if labelled.cases
        else Verifier.State.NO_INPUTS
        if programs.oracle
        else Verifier.State.NO_ORACLE
    )
    record = _record(recipe, made, labelled)
    made_by = f"run {run.pk}" if run else f"imported {imported.pk if imported else None}"
    with transaction.atomic():
        return Verifier.objects.create(
            problem=problem,
            run=run,
            built_from=imported,
            state=state,
            suite=_suite(problem, made_by, programs, made, labelled, record) if labelled.cases else None,
            official_verdict=imported.official_verdict if imported else "",
            record=record,
            problem_hash=problem.content_hash,
            **asdict(programs),
        )


def _record(recipe: Recipe, made: MadeInputs, labelled: Labelled) -> dict[str, Any]:
    return {
        "recipe": asdict(recipe),
        "oracle_seconds": ORACLE_SECONDS,
        "judge_version": judge.JUDGE_VERSION,
        "inputs": len(made.kept),
        "invalid": made.invalid,
        "repeated": made.repeated,
        "too_long": made.too_long,
        "errors": list(made.errors),
        "dropped": dict(labelled.dropped),
        "disputed": [
            {"input": _put(text), "first": _put(first), "second": _put(second)}
            for text, first, second in labelled.disputed
        ],
        "stress": [_put(one.text) for one in made.stress],
    }


def _suite(
    problem: Problem,
    made_by: str,
    programs: VerifierPrograms,
    made: MadeInputs,
    labelled: Labelled,
    record: dict[str, Any],
) -> Suite:
    """The answered inputs as a released suite: the next version of the problem's."""
    kinds = {one.text: one for one in made.kept}
    tests = [(case, kinds[case.input], _put(case.input), _put(case.answer)) for case in labelled.cases]
    hashes = "\n".join(f"{given} {answer}" for _, _, given, answer in tests)
    recipe = json.dumps([made_by, asdict(programs), record["recipe"]], sort_keys=True)
    recipe_hash = hashlib.sha256(recipe.encode("utf-8", "surrogatepass")).hexdigest()
    latest = problem.suites.aggregate(latest=Max("version"))["latest"] or 0
    suite = Suite.objects.create(
        problem=problem,
        version=latest + 1,
        recipe_hash=recipe_hash,
        provenance=_provenance(programs, record),
        content_hash=hashlib.sha256(hashes.encode()).hexdigest(),
    )
    SuiteTest.objects.bulk_create(
        SuiteTest(
            suite=suite,
            order=order,
            name=case.name,
            origin=SuiteTest.Origin.TRICKY if one.kind == "tricky" else SuiteTest.Origin.ORACLE,
            group=f"cap {one.cap}" if one.cap else one.kind,
            input_hash=given,
            answer_hash=answer,
        )
        for order, (case, one, given, answer) in enumerate(tests)
    )
    suite.released_at = timezone.now()
    suite.note = (
        "Answered by an oracle that a model wrote and that passes the samples. No known program measured it."
    )
    suite.save()
    return suite


def _provenance(programs: VerifierPrograms, record: dict[str, Any]) -> dict[str, Any]:
    """What the page of a suite shows; the programs themselves are the verifier's."""
    makers = [name for name in ("generator", "batch", "tricky") if getattr(programs, name)]
    return {
        "recipe": {
            "generators": [{"program": {"name": name}} for name in makers],
            "validators": [{"name": "validator"}] if programs.validator else [],
            "reference": {"name": "oracle"},
            "seed": 0,
        },
        "dropped": {
            f"the oracle had no answer ({fault})": count for fault, count in record["dropped"].items()
        }
        | {"disputed": len(record["disputed"])},
        "judge_version": judge.JUDGE_VERSION,
    }


def latest_verifier(problem: Problem, *, before: Any = None) -> Verifier:
    """The problem's newest verifier that was built, of those made before a time if one is given. Raises NoVerifier."""
    built: QuerySet[Verifier] = problem.verifiers.exclude(state=Verifier.State.PROGRAMS)
    if before is not None:
        built = built.filter(created_at__lte=before)
    found = built.select_related("suite", "problem").first()
    if found is None:
        raise NoVerifier(
            f"{problem} has no verifier{' from before the run began' if before else ''}. "
            f"Build it: manage.py build_verifier --dataset {problem.dataset.name} --problems {problem.external_id}"
        )
    return found


def verification_of(verifier: Verifier, submission: Submission, *, shrunk: bool = False) -> Verification:
    """What the verifier says of the program. With `shrunk` also its smallest failing input that was found.

    The samples count with the statement's answers, the other tests with the oracle's (METHODS.md 15). Raises
    SandboxFault and SandboxUnavailable.
    """
    stored = Verification.objects.filter(verifier=verifier, submission=submission).first()
    if stored is None:
        stored = _verify(verifier, submission)
    if shrunk and stored.minimal is None and stored.failures:
        stored.minimal = _minimal(verifier, submission, stored)
        stored.save(update_fields=["minimal"])
    return stored


def _verify(verifier: Verifier, submission: Submission) -> Verification:
    problem = verifier.problem
    checker = judge.Checker.from_json(problem.checker)
    cases = all_cases(verifier)
    program = candidate_program(problem, submission)
    said = verify(program, cases, checker)
    stress = [_read(one) for one in verifier.record.get("stress", [])]
    slow = [answer for answer in run_on(program, stress, _whole(problem.time_limit)) if answer.fault == "TLE"]
    stored, _ = Verification.objects.get_or_create(
        verifier=verifier,
        submission=submission,
        defaults={
            "samples_passed": said.samples_passed,
            "accepted": said.accepted,
            "passed": said.passed,
            "total": said.total,
            "slow": len(slow),
            "output_hash": said.signature,
            "failures": [_failure(one) for one in said.failures[:KEPT_FAILURES]],
        },
    )
    return stored


def all_cases(verifier: Verifier) -> list[Case]:
    """Everything a candidate is tried on: the samples, then the tests of the suite."""
    tests = verifier.suite.tests.all() if verifier.suite else SuiteTest.objects.none()
    return [*samples_of(verifier.problem), *_cases(tests, sample=False)]


def measure_coverage(verifier: Verifier, submission: Submission) -> dict[str, float]:
    """The shares of the program's statements that the samples reach, and that all tests reach.

    Raises ValueError for a program that is not in Python, SyntaxError and SandboxFault.
    """
    cases = all_cases(verifier)
    program = candidate_program(verifier.problem, submission)
    reached = reached_lines(program, [case.input for case in cases])
    by_samples = [lines for case, lines in zip(cases, reached, strict=True) if case.sample]
    return {
        "samples": coverage(submission.source, set().union(*by_samples)),
        "all": coverage(submission.source, set().union(*reached)),
    }


def _minimal(verifier: Verifier, submission: Submission, stored: Verification) -> dict[str, str] | None:
    """The smallest input found on which program and oracle differ, from the shortest failing test that is no sample."""
    failing = [one for one in stored.failures if not one["sample"] and not one["cut"]]
    if not failing:
        return None
    problem = verifier.problem
    checker = judge.Checker.from_json(problem.checker)
    program = candidate_program(problem, submission)
    oracle = oracle_program(problem, verifier.oracle)
    parts = parts_of(problem, _programs(verifier))
    found = {one["input"]: one for one in failing}

    def fails(inputs: list[str]) -> list[bool]:
        valid = valid_only(parts, inputs)
        cases = label(oracle, valid, seconds=1).cases
        answers = run_on(program, [case.input for case in cases], 1)
        for case, answer, right in zip(cases, answers, rule(cases, answers, checker), strict=True):
            if not right:
                found[case.input] = _failure(Failure(case, answer.output or "", answer.fault or "WA"))
        return [text in found for text in inputs]

    shortest = min(found, key=len)
    smallest: dict[str, str] = found[shrink(shortest, fails, values=problem.signature is not None)]
    return smallest


def _failure(failure: Failure) -> dict[str, Any]:
    texts = {"input": failure.case.input, "expected": failure.case.answer, "output": failure.output}
    shown = {name: text[:_KEPT_CHARACTERS].replace("\0", "\ufffd") for name, text in texts.items()}
    return {
        "name": failure.case.name,
        "sample": failure.case.sample,
        "fault": failure.fault,
        "cut": any(len(text) > _KEPT_CHARACTERS for text in texts.values()),
        **shown,
    }


def _programs(verifier: Verifier) -> VerifierPrograms:
    return VerifierPrograms(
        verifier.oracle,
        verifier.second_oracle,
        verifier.validator,
        verifier.generator,
        verifier.batch,
        verifier.tricky,
    )


def build_imported(imported: Verifier, recipe: Recipe) -> Verifier:
    """The verifier of imported programs. Raises SandboxFault and SandboxUnavailable."""
    return build(imported.problem, _programs(imported), recipe, imported=imported)


def _cases(tests: "QuerySet[TestCase] | QuerySet[SuiteTest]", *, sample: bool) -> list[Case]:
    rows: Sequence[TestCase | SuiteTest] = list(tests)
    return [Case(one.name, _read(one.input_hash), _read(one.answer_hash), sample) for one in rows]


def _whole(seconds: float) -> int:
    return max(1, round(seconds))


def _put(text: str) -> str:
    return blobs.put(text.encode("utf-8", "surrogatepass"))


def _read(content_hash: str) -> str:
    return blobs.read(content_hash).decode("utf-8", "replace")
