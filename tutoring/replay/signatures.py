"""Failure signatures: which tests a program fails and how, and whether two programs fail alike (docs/replay.md).

A signature is made of hidden tests. Only researchers see it or anything derived from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

import judge
from benchmark.models import Judgement, Problem
from tutoring.replay.estimates import Fit, Uptake

FEWEST_HIDDEN_TESTS = 3
"""With fewer hidden tests two programs may fail alike by chance."""

_OUTPUT = 2_000
"""Characters of a program's output that are compared; the judge stores no more."""

_WITHOUT_TESTS = {judge.Verdict.CE, judge.Verdict.NO_CODE, judge.Verdict.JE}


@dataclass(frozen=True)
class Thresholds:
    """The least overlap and agreement of programs that fail alike, and the least overlap of near ones, 0 to 1."""

    same_overlap: float
    same_agreement: float
    near_overlap: float

    @classmethod
    def of_site(cls) -> Thresholds:
        """Return the thresholds of the settings."""
        return cls(settings.REPLAY_SAME_OVERLAP, settings.REPLAY_SAME_AGREEMENT, settings.REPLAY_NEAR_OVERLAP)


@dataclass(frozen=True)
class Signature:
    """The failed tests of a program by name, each with its verdict and what shows how it failed."""

    failed: Mapping[str, tuple[str, str]]
    hidden_tests: int

    @property
    def solved(self) -> bool:
        """Whether the program passes all tests."""
        return not self.failed


@dataclass(frozen=True)
class Comparison:
    """Two signatures compared.

    `overlap` is σ, the Jaccard index of the sets of failed tests. `agreement` is ω, the share of the tests failed by
    both that end with the same verdict and the same output. Both are None where the comparison is unknown.
    """

    fit: Fit
    overlap: float | None = None
    agreement: float | None = None


UNKNOWN = Comparison("unknown")


def signature_of(judgement: Judgement | None) -> Signature | None:
    """Return the signature of a program that was judged on all tests to the end; None if it has none.

    A program has none without code, after a compilation error, and before it is judged.
    """
    if judgement is None or judgement.result is None or judgement.state != Judgement.State.DONE:
        return None
    return signature_of_result(judgement.result)


def signature_of_result(result: Mapping[str, Any]) -> Signature | None:
    """Return the signature of `judge.Judgement` in its JSON form; None if not all tests were run."""
    tests = result["tests"]
    if result["verdict"] in _WITHOUT_TESTS or not tests or len(tests) < result["total"]:
        return None
    failed = {
        test["name"]: (test["verdict"], _trace(test)) for test in tests if test["verdict"] != judge.Verdict.AC
    }
    return Signature(failed, sum(not test["sample"] for test in tests))


def several_answers(problem: Problem) -> bool:
    """Return whether a program of the problem's author decides which outputs are right: there may be several."""
    return bool(judge.Checker.from_json(problem.checker).program)


def compare(one: Signature | None, other: Signature | None, thresholds: Thresholds) -> Comparison:
    """Return how alike two wrong programs of a problem with one right answer fail."""
    if one is None or other is None or not one.failed or not other.failed:
        return UNKNOWN
    if min(one.hidden_tests, other.hidden_tests) < FEWEST_HIDDEN_TESTS:
        return UNKNOWN
    common = one.failed.keys() & other.failed.keys()
    overlap = len(common) / len(one.failed.keys() | other.failed.keys())
    alike = sum(one.failed[name] == other.failed[name] for name in common)
    agreement = alike / len(common) if common else 0.0
    if overlap >= thresholds.same_overlap and agreement >= thresholds.same_agreement:
        return Comparison("same", overlap, agreement)
    return Comparison("near" if overlap >= thresholds.near_overlap else "other", overlap, agreement)


def uptake(before: Signature | None, after: Signature | None, *, unchanged: bool) -> Uptake:
    """Return what became of a program: of the tests that it failed and passes now, and the reverse.

    `unchanged` states that both are equal apart from comments and blanks.
    """
    if unchanged:
        return "unchanged"
    if before is None or after is None:
        return "unknown"
    if after.solved:
        return "solved"
    gained, lost = before.failed.keys() - after.failed.keys(), after.failed.keys() - before.failed.keys()
    if gained and lost:
        return "mixed"
    if gained or lost:
        return "better" if gained else "worse"
    return "changed, tests the same"


def _trace(test: Mapping[str, Any]) -> str:
    """Return the digest of the output, with the kind of error where the program crashed."""
    lines = test["errors"].strip().splitlines() if test["verdict"] == judge.Verdict.RTE else []
    error = lines[-1].partition(":")[0] if lines else ""
    return hashlib.sha256(f"{test['output'][:_OUTPUT].strip()}\n{error}".encode()).hexdigest()
