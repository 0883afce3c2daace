"""The correctness of an oracle, measured after its verifier is built (docs/spec.md 0.1).

Building and ranking do not use these results: a verifier has no access to hidden tests or reference solutions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import judge
from benchmark import judging
from benchmark.models import Judgement, Suite, TestCase, Verifier
from benchmark.oracles.running import CpuBudget
from benchmark.oracles.store import cases_of, oracle_program, samples_of
from benchmark.oracles.verifying import SAMPLES_BUDGET, Case, verify
from benchmark.suites.recipes import fastest_reference

_HIDDEN_BUDGET = CpuBudget(each=2, total=6)
"""Most hidden tests are too large for brute force; the shortest ones run first."""


@dataclass(frozen=True)
class OracleComparison:
    """The numbers of an oracle's right, wrong and missing answers."""

    right: int = 0
    wrong: int = 0
    unanswered: int = 0


@dataclass(frozen=True)
class Correctness:
    """The comparisons of an oracle on samples, hidden tests, and a reference solution; None if unavailable."""

    samples: OracleComparison
    hidden: OracleComparison | None
    reference: OracleComparison | None

    @property
    def verdict(self) -> str:
        """`wrong` after a wrong answer; `right` if hidden tests or a reference confirm an answer; else `unknown`.

        As in the paper, a timeout of the oracle is not a wrong answer.
        """
        known = [one for one in (self.samples, self.hidden, self.reference) if one]
        if any(one.wrong for one in known):
            return "wrong"
        return "right" if any(one.right for one in known[1:]) else "unknown"

    def to_json(self) -> dict[str, Any]:
        """Return the comparisons and the verdict as a JSON object."""
        return {"verdict": self.verdict, **asdict(self)}


def correctness_of(verifier: Verifier) -> Correctness | None:
    """Return the oracle's correctness, measured on the first call and stored; None without an oracle.

    Raises SandboxFaultError and SandboxUnavailableError.
    """
    if not verifier.oracle:
        return None
    stored = verifier.record.get("correctness")
    if stored is None:
        problem = verifier.problem
        hidden = (
            [] if problem.samples_only else cases_of(problem.tests.exclude(origin=TestCase.Origin.SAMPLE))
        )
        measured = Correctness(
            _compare_with_answers(verifier, samples_of(problem), SAMPLES_BUDGET),
            _compare_with_answers(verifier, hidden, _HIDDEN_BUDGET) if hidden else None,
            _compare_with_reference(verifier.suite) if verifier.suite else None,
        )
        stored = asdict(measured)
        verifier.record |= {"correctness": stored}
        verifier.save(update_fields=["record"])
    return Correctness(**{name: one and OracleComparison(**one) for name, one in stored.items()})


def _compare_with_answers(verifier: Verifier, cases: Sequence[Case], budget: CpuBudget) -> OracleComparison:
    problem = verifier.problem
    checker = judge.Checker.from_json(problem.checker)
    results = verify(oracle_program(problem, verifier.oracle), cases, checker, budget)
    wrong = sum(failure.fault == "WA" for failure in results.failures)
    return OracleComparison(results.passed, wrong, results.total - results.passed - wrong)


def _compare_with_reference(suite: Suite) -> OracleComparison | None:
    """Judge the fastest reference solution by the oracle's answers."""
    reference = fastest_reference(suite.problem)
    if reference is None:
        return None
    submission = judging.store_submission(suite.problem, reference.source, reference.language)
    judgement = judging.request_judgement(
        submission,
        test_suite=suite,
        stop_at_first_failure=False,
        speed_scope=judging.scope_of_tests(suite.problem, suite),
    )
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    if judgement.state != Judgement.State.DONE or judgement.result is None:
        raise judge.SandboxFaultError(judgement.fault)
    verdicts = Counter(test["verdict"] for test in judgement.result["tests"] if not test["sample"])
    agreeing, differing = verdicts["AC"], verdicts["WA"]
    return OracleComparison(agreeing, differing, verdicts.total() - agreeing - differing)
