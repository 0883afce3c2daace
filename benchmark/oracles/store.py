"""Verifiers in the database: building one from programs that a model wrote or that were imported."""

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
    """The verifier was built with other settings; the message says with which."""


def signature_of(problem: Problem) -> Signature | None:
    """The method that the problem asks for, None where programs read standard input."""
    return Signature.from_json(problem.signature) if problem.signature else None


def samples_of(problem: Problem) -> list[Case]:
    """The samples of the statement with its outputs."""
    return cases_of(problem.tests.filter(origin=TestCase.Origin.SAMPLE), sample=True)


def oracle_program(problem: Problem, source: str) -> Function:
    """An oracle as it is run: its method, or its function `solution`."""
    return Function(source, signature_of(problem))


def oracle_fault(problem: Problem, source: str) -> str:
    """Return why a program is no oracle: it fails a sample, or answers it otherwise when it is asked again.

    Blank for one that passes, and where there is no sample. Raises SandboxFault and SandboxUnavailable.
    """
    oracle, samples = oracle_program(problem, source), samples_of(problem)
    checker = judge.Checker.from_json(problem.checker)
    said = verify(oracle, samples, checker, SAMPLES_BUDGET)
    if said.failures:
        return f"{said.failures[0].fault} on sample {said.failures[0].case.name}"
    inputs = [case.input for case in samples]
    return str(confirm(oracle, inputs, said.answers, SAMPLES_BUDGET, checker).unstable or "")


def problems_without_oracle(dataset: Dataset) -> dict[str, str]:
    """Return why problems of the dataset can have no oracle, by external id.

    An oracle turns one input into one output; interactive and multi-pass problems have no such thing.
    """
    reasons = {}
    for external_id, checker in dataset.problems.order_by().values_list("external_id", "checker"):
        program = checker.get("program") or {}
        if program.get("interactive"):
            reasons[external_id] = (
                "it is interactive: a program talks with it, so no oracle can answer an input"
            )
        elif program.get("passes", 1) > 1:
            reasons[external_id] = "it has several passes, so no oracle can answer an input"
    return reasons


def input_functions_of(problem: Problem, programs: VerifierPrograms) -> InputFunctions:
    """What makes the inputs."""
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
    """Return the verifier that a run's programs make, with its suite; the stored one if the run built it before.

    `rejected` says of each oracle that was asked for in vain why it is none. Raises SandboxFault and
    SandboxUnavailable, and then nothing was stored.
    """
    stored = Verifier.objects.filter(problem=problem, run=run).first()
    return stored or _store(
        problem, programs, recipe, *_make(problem, programs, recipe), run=run, rejected=rejected
    )


def _make(
    problem: Problem, programs: VerifierPrograms, recipe: InputRecipe
) -> tuple[GeneratedInputs, LabelledInputs]:
    """The inputs and the oracle's answers. It asks the database nothing, so that threads may do it."""
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
    generated: GeneratedInputs,
    labelled: LabelledInputs,
    *,
    run: Run | None = None,
    imported: Verifier | None = None,
    rejected: Sequence[str] = (),
) -> Verifier:
    record = _record(recipe, generated, labelled) | {"rejected": [*rejected, *_unstable(labelled)]}
    made_by = f"run {run.pk}" if run else f"imported {imported.pk if imported else None}"
    with transaction.atomic():
        return Verifier.objects.create(
            problem=problem,
            run=run,
            built_from=imported,
            state=_state(programs, labelled),
            suite=_suite(problem, made_by, programs, generated, labelled, record) if labelled.cases else None,
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
    """Return why oracles were rejected when they answered the inputs."""
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
    generated: GeneratedInputs,
    labelled: LabelledInputs,
    record: dict[str, Any],
) -> Suite:
    """The answered inputs as a released suite: the next version of the problem's."""
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


def programs_of(verifier: Verifier) -> VerifierPrograms:
    """Its sources."""
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
) -> Iterator[Verifier | ConfigMismatchError | judge.SandboxFault]:
    """The verifier of each of the imported programs, or what went wrong, in their order; what was built stays.

    Raises SandboxUnavailable.
    """
    built = {one.built_from_id: one for one in Verifier.objects.filter(built_from__in=imported)}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [
            None if one.pk in built else pool.submit(_make, one.problem, programs_of(one), recipe)
            for one in imported
        ]
        try:
            for one, future in zip(imported, futures, strict=True):
                if future is not None:
                    try:
                        results = future.result()
                    except judge.SandboxFault as fault:
                        yield fault
                        continue
                    yield _store(one.problem, programs_of(one), recipe, *results, imported=one)
                elif (before := built[one.pk].record["recipe"]) != json.loads(json.dumps(asdict(recipe))):
                    yield ConfigMismatchError(
                        f"{one.problem}: built with other settings ({_bounds(before)}), and what is built never changes"
                    )
                else:
                    yield built[one.pk]
        finally:  # after an error or an interruption nothing new is begun
            for future in futures:
                if future is not None:
                    future.cancel()


def _bounds(recipe: dict[str, Any]) -> str:
    return f"oracle_seconds={recipe.get('oracle_seconds')} budget={recipe.get('budget')}".replace(
        "None", "none"
    )


def cases_of(tests: "QuerySet[TestCase] | QuerySet[SuiteTest]", *, sample: bool = False) -> list[Case]:
    """Stored tests with their texts."""
    rows: Sequence[TestCase | SuiteTest] = list(tests)
    return [Case(one.name, load_blob(one.input_hash), load_blob(one.answer_hash), sample) for one in rows]


def save_blob(text: str) -> str:
    return blobs.put(text.encode("utf-8", "surrogatepass"))


def load_blob(content_hash: str) -> str:
    """A stored text."""
    return blobs.read(content_hash).decode("utf-8", "replace")
