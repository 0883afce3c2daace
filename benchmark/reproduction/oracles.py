"""Figures from the released LeetCode files of the ALGO paper, without a model (docs/spec.md 3.4, N-8 and N-9)."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmark.datasets.algo import (
    StoredProblem,
    candidates_of,
    checker_of,
    oracle_of,
    read_stored,
    samples_of,
    signature_of,
)
from benchmark.oracles.inputs import PUBLISHED, InputFunctions, make_inputs
from benchmark.oracles.quality import agreement, reached_statements
from benchmark.oracles.running import Function
from benchmark.oracles.verifying import Case, label, verify
from benchmark.reproduction.registry import RECOMPUTED, Check, PublishedData, reproduces


@dataclass(frozen=True)
class Measured:
    """Results of one problem: oracle and candidate on its samples, candidate on all tests and in the official judge."""

    oracle_on_samples: bool
    candidate_on_samples: bool
    candidate_on_all: bool
    accepted: bool
    coverage_of_samples: float
    coverage_of_all: float


@reproduces(
    "N-8", "ALGO: Agreement of samples and of oracle tests with LeetCode's verdicts, 35 problems", RECOMPUTED
)
def _agreement(files: PublishedData) -> Iterator[Check]:
    problems = _measured(_folder(files))
    for figure, expected, passes in (
        ("samples alone", "24/35 = 68.57 %", [one.candidate_on_samples for one in problems]),
        ("samples and oracle tests", "26/35 = 74.29 %", [one.candidate_on_all for one in problems]),
    ):
        agreeing, total = agreement(zip(passes, [one.accepted for one in problems], strict=True))
        obtained = f"{agreeing}/{total} = {100 * agreeing / total:.2f} %"
        yield Check.equal(f"Agreement of {figure}", expected, obtained)


@reproduces(
    "N-9",
    "ALGO: oracles and candidates on the samples, and Coverage from samples to oracle tests",
    RECOMPUTED,
)
def _samples_and_coverage(files: PublishedData) -> Iterator[Check]:
    problems = _measured(_folder(files))
    for who, expected, passes in (
        ("oracles", "33/35", [one.oracle_on_samples for one in problems]),
        ("candidates", "22/35", [one.candidate_on_samples for one in problems]),
    ):
        yield Check.equal(f"{who} that pass the samples", expected, f"{sum(passes)}/{len(passes)}")
    before = sum(one.coverage_of_samples for one in problems) / len(problems)
    after = sum(one.coverage_of_all for one in problems) / len(problems)
    # The paper does not define its statements, so levels differ. Its claim is that coverage rises.
    yield Check("Coverage", "rises (90.32 % to 93.00 %)", f"{before:.2%} to {after:.2%}", after > before)


def _folder(files: PublishedData) -> Path:
    return files.path("algo/leetcode_data/metadata.json").parent.parent


@cache
def _measured(folder: Path) -> list[Measured]:
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(measure, read_stored(folder)))


def measure(stored: StoredProblem) -> Measured:
    """Measure a stored problem: inputs by the published recipe, answers by the stored oracle."""
    signature = signature_of(stored.statement)
    checker = checker_of(signature)
    oracle = oracle_of(stored.results)
    [candidate, *_] = candidates_of(stored.results)
    assert oracle is not None
    samples = tuple(
        Case(one.name, bytes(one.input).decode(), bytes(one.answer).decode(), sample=True)
        for one in samples_of(stored, signature)
    )
    functions = InputFunctions(signature, oracle.validator, oracle.generator, oracle.batch, oracle.tricky)
    generated = make_inputs(functions, PUBLISHED)
    brute, program = Function(oracle.oracle, signature), Function(candidate.source, signature)
    labelled = label(brute, [one.text for one in generated.kept], PUBLISHED.oracle_budget)
    cases = (*samples, *labelled.cases)
    verification = verify(program, cases, checker, PUBLISHED.oracle_budget)
    reached = reached_statements(program, [case.input for case in cases])
    return Measured(
        oracle_on_samples=verify(brute, samples, checker, PUBLISHED.oracle_budget).accepted,
        candidate_on_samples=verification.samples_passed,
        candidate_on_all=verification.accepted,
        accepted=candidate.official_verdict == "AC",
        coverage_of_samples=reached.coverage(len(samples)),
        coverage_of_all=reached.coverage(),
    )
