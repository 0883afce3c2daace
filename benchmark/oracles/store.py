"""Storage of verifiers, built from programs that a model wrote or that were imported."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

import judge
from benchmark.functional import Signature
from benchmark.models import Dataset, Problem, Run, Suite, SuiteTest, TestCase, Verifier, blobs
from benchmark.oracles.inputs import GeneratedInputs, InputFunctions, InputRecipe, make_inputs, written_tests
from benchmark.oracles.programs import VerifierPrograms
from benchmark.oracles.running import Function
from benchmark.oracles.verifying import SAMPLES_BUDGET, Case, LabelledInputs, confirm, label, verify


class ConfigMismatchError(Exception):
    """A verifier that was built with other settings; the message contains these settings."""


def signature_of(problem: Problem) -> Signature | None:
    """Return the method that the problem defines; None if programs read standard input."""
    return Signature.from_json(problem.signature) if problem.signature else None


def samples_of(problem: Problem) -> list[Case]:
    """Return the samples of the statement with its outputs."""
    return cases_of(problem.tests.filter(origin=TestCase.Origin.SAMPLE), sample=True)


def oracle_program(problem: Problem, source: str) -> Function:
    """Return an oracle as a callable program: the problem's method, or `solution`."""
    return Function(source, signature_of(problem))


def oracle_fault(problem: Problem, source: str) -> str:
    """Return the reason why a program is not a valid oracle: it fails a sample or is non-deterministic.

    Empty for a valid oracle and without samples. Raises SandboxFaultError and SandboxUnavailableError.
    """
    oracle, samples = oracle_program(problem, source), samples_of(problem)
    checker = judge.Checker.from_json(problem.checker)
    results = verify(oracle, samples, checker, SAMPLES_BUDGET)
    if results.failures:
        return f"{results.failures[0].fault} on sample {results.failures[0].case.name}"
    inputs = [case.input for case in samples]
    return str(confirm(oracle, inputs, results.answers, SAMPLES_BUDGET, checker).unstable or "")


def problems_without_oracle(dataset: Dataset) -> dict[str, str]:
    """Return the reasons why problems of the dataset cannot have an oracle, by external id.

    An oracle maps one input to one output, which is impossible for interactive and multi-pass problems.
    """
    reasons = {}
    for external_id, checker in dataset.problems.order_by().values_list("external_id", "checker"):
        program = checker.get("program") or {}
        if program.get("interactive"):
            reasons[external_id] = "it is interactive: an oracle cannot answer single inputs"
        elif program.get("passes", 1) > 1:
            reasons[external_id] = "it has several passes, so an oracle cannot answer single inputs"
    return reasons


def input_functions_of(problem: Problem, programs: VerifierPrograms) -> InputFunctions:
    """Return the functions that generate and validate inputs."""
    return InputFunctions(
        signature_of(problem),
        programs.validator,
        programs.generator,
        programs.batch,
        programs.tricky,
        programs.written_tests,
    )


def build(
    problem: Problem, programs: VerifierPrograms, recipe: InputRecipe, run: Run, rejected: Sequence[str] = ()
) -> Verifier:
    """Return the verifier of a run's programs, with its suite; the stored one if the run has built it before.

    `rejected` contains the reasons why earlier oracles were rejected. Raises SandboxFaultError and
    SandboxUnavailableError; then nothing is stored.
    """
    stored = Verifier.objects.filter(problem=problem, run=run).first()
    return stored or _store(
        problem, programs, recipe, _generate_and_label(problem, programs, recipe), run=run, rejected=rejected
    )


def _generate_and_label(
    problem: Problem, programs: VerifierPrograms, recipe: InputRecipe
) -> tuple[GeneratedInputs, LabelledInputs]:
    """Return the inputs and the oracle's answers, without database access, so that it can run in threads."""
    if not programs.oracle:
        return GeneratedInputs(
            (), written_tests=written_tests(input_functions_of(problem, programs))
        ), LabelledInputs(())
    generated = make_inputs(input_functions_of(problem, programs), recipe)
    second = oracle_program(problem, programs.second_oracle) if programs.second_oracle else None
    oracle = oracle_program(problem, programs.oracle)
    checker = judge.Checker.from_json(problem.checker)
    inputs = [one.text for one in generated.kept]
    return generated, label(oracle, inputs, recipe.oracle_budget, second, checker=checker)


def _store(
    problem: Problem,
    programs: VerifierPrograms,
    recipe: InputRecipe,
    inputs: tuple[GeneratedInputs, LabelledInputs],
    *,
    run: Run | None = None,
    imported: Verifier | None = None,
    rejected: Sequence[str] = (),
) -> Verifier:
    generated, labelled = inputs
    record = _record(recipe, generated, labelled) | {"rejected": [*rejected, *_unstable(labelled)]}
    made_by = f"run {run.pk}" if run else f"imported {imported.pk if imported else None}"
    with transaction.atomic():
        return Verifier.objects.create(
            problem=problem,
            run=run,
            built_from=imported,
            state=_state(programs, labelled),
            suite=(
                _suite(problem, made_by, programs, generated=generated, labelled=labelled, record=record)
                if labelled.cases
                else None
            ),
            official_verdict=imported.official_verdict if imported else "",
            record=record,
            problem_hash=problem.content_hash,
            **asdict(programs),
        )


def _state(programs: VerifierPrograms, labelled: LabelledInputs) -> Verifier.State:
    if not programs.oracle:
        return Verifier.State.NO_ORACLE
    if labelled.unstable:
        return Verifier.State.NON_DETERMINISTIC
    return Verifier.State.READY if labelled.cases else Verifier.State.NO_INPUTS


def _unstable(labelled: LabelledInputs) -> list[str]:
    """Return the reasons why oracles were rejected while they answered the inputs."""
    named = {"oracle": labelled.unstable, "second oracle": labelled.second_unstable}
    return [f"{name}: {where}" for name, where in named.items() if where]


def _record(recipe: InputRecipe, generated: GeneratedInputs, labelled: LabelledInputs) -> dict[str, Any]:
    return {
        "recipe": asdict(recipe),
        "answered_in": round(labelled.seconds, 3),
        "confirmed_in": round(labelled.confirming, 3),
        "judge_version": judge.JUDGE_VERSION,
        "inputs": len(generated.kept),
        "invalid": generated.invalid,
        "repeated": generated.repeated,
        "too_long": generated.too_long,
        "errors": list(generated.errors),
        "dropped": dict(labelled.dropped),
        "disputed": [
            {"input": save_blob(text), "first": save_blob(first), "second": save_blob(second)}
            for text, first, second in labelled.conflicting
        ],
        "stress": [save_blob(one.text) for one in generated.stress],
        "written_tests": [
            {"input": save_blob(given), "answer": save_blob(answer)}
            for given, answer in generated.written_tests
        ],
    }


def _suite(
    problem: Problem,
    made_by: str,
    programs: VerifierPrograms,
    *,
    generated: GeneratedInputs,
    labelled: LabelledInputs,
    record: dict[str, Any],
) -> Suite:
    """Return the answered inputs as a released suite, the next version of the problem's suites."""
    kinds = {one.text: one for one in generated.kept}
    tests = [
        (case, kinds[case.input], save_blob(case.input), save_blob(case.answer)) for case in labelled.cases
    ]
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
        "Answered by a model-written oracle that passes the samples. Not validated by known programs."
    )
    suite.save()
    return suite


def _provenance(programs: VerifierPrograms, record: dict[str, Any]) -> dict[str, Any]:
    """Return the data that a suite's page shows; the programs are stored with the verifier."""
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


def programs_of(verifier: Verifier) -> VerifierPrograms:
    """Return the verifier's sources."""
    return VerifierPrograms(
        verifier.oracle,
        verifier.second_oracle,
        verifier.validator,
        verifier.generator,
        verifier.batch,
        verifier.tricky,
        verifier.written_tests,
    )


def build_imported(
    imported: Sequence[Verifier], recipe: InputRecipe, jobs: int
) -> Iterator[Verifier | ConfigMismatchError | judge.SandboxFaultError]:
    """Yield the verifier of each imported program or its error, in order; verifiers built before are kept.

    Raises SandboxUnavailableError.
    """
    built = {one.built_from_id: one for one in Verifier.objects.filter(built_from__in=imported)}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [
            None
            if one.pk in built
            else pool.submit(_generate_and_label, one.problem, programs_of(one), recipe)
            for one in imported
        ]
        try:
            for one, future in zip(imported, futures, strict=True):
                if future is not None:
                    try:
                        results = future.result()
                    except judge.SandboxFaultError as fault:
                        yield fault
                        continue
                    yield _store(one.problem, programs_of(one), recipe, results, imported=one)
                elif (before := built[one.pk].record["recipe"]) != json.loads(json.dumps(asdict(recipe))):
                    yield ConfigMismatchError(
                        f"{one.problem}: built with other settings ({_bounds(before)}); verifiers cannot be changed"
                    )
                else:
                    yield built[one.pk]
        finally:  # start no more builds after an error or an interruption
            for future in futures:
                if future is not None:
                    future.cancel()


def _bounds(recipe: dict[str, Any]) -> str:
    return f"oracle_seconds={recipe.get('oracle_seconds')} budget={recipe.get('budget')}".replace(
        "None", "none"
    )


def cases_of(tests: "QuerySet[TestCase] | QuerySet[SuiteTest]", *, sample: bool = False) -> list[Case]:
    """Return stored tests as cases with their texts."""
    rows: Sequence[TestCase | SuiteTest] = list(tests)
    return [Case(one.name, load_blob(one.input_hash), load_blob(one.answer_hash), sample) for one in rows]


def save_blob(text: str) -> str:
    return blobs.put(text.encode("utf-8", "surrogatepass"))


def load_blob(content_hash: str) -> str:
    """Return a stored text."""
    return blobs.read(content_hash).decode("utf-8", "replace")
