"""How often an oracle is right, measured once its verifier is built (docs/spec.md 0.1, oracle correctness).

Nothing of this takes part in building or ranking: a verifier knows neither hidden tests nor reference solutions.
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
"""Hidden tests are mostly too large for brute force; the shortest are tried first."""


@dataclass(frozen=True)
class OracleComparison:
    """Answers of an oracle: right ones, wrong ones, and how often there was none."""

    right: int = 0
    wrong: int = 0
    unanswered: int = 0


@dataclass(frozen=True)
class Correctness:
    """An oracle on the samples, on the hidden tests, and its suite beside a reference solution; None: there is none."""

    samples: OracleComparison
    hidden: OracleComparison | None
    reference: OracleComparison | None

    @property
    def verdict(self) -> str:
        """`wrong` after one wrong answer; `right` where hidden tests or a reference confirm it; else `unknown`.

        As in the paper, an oracle that is too slow for a test is not wrong.
        """
        known = [one for one in (self.samples, self.hidden, self.reference) if one]
        if any(one.wrong for one in known):
            return "wrong"
        return "right" if any(one.right for one in known[1:]) else "unknown"

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {"verdict": self.verdict, **asdict(self)}


def correctness_of(verifier: Verifier) -> Correctness | None:
    """What is known of its oracle, measured on first sight; None without an oracle.

    Raises SandboxFault and SandboxUnavailable.
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
            _on(verifier, samples_of(problem), SAMPLES_BUDGET),
            _on(verifier, hidden, _HIDDEN_BUDGET) if hidden else None,
            _beside_reference(verifier.suite) if verifier.suite else None,
        )
        stored = asdict(measured)
        verifier.record |= {"correctness": stored}
        verifier.save(update_fields=["record"])
    return Correctness(**{name: one and OracleComparison(**one) for name, one in stored.items()})


def _on(verifier: Verifier, cases: Sequence[Case], budget: CpuBudget) -> OracleComparison:
    problem = verifier.problem
    checker = judge.Checker.from_json(problem.checker)
    said = verify(oracle_program(problem, verifier.oracle), cases, checker, budget)
    wrong = sum(failure.fault == "WA" for failure in said.failures)
    return OracleComparison(said.passed, wrong, said.total - said.passed - wrong)


def _beside_reference(suite: Suite) -> OracleComparison | None:
    """The fastest reference solution judged by the oracle's answers."""
    reference = fastest_reference(suite.problem)
    if reference is None:
        return None
    submission = judging.store_submission(suite.problem, reference.source, reference.language)
    judgement = judging.request_judgement(submission, test_suite=suite, stop_at_first_failure=False)
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    if judgement.state != Judgement.State.DONE or judgement.result is None:
        raise judge.SandboxFault(judgement.fault)
    verdicts = Counter(test["verdict"] for test in judgement.result["tests"] if not test["sample"])
    agreeing, differing = verdicts["AC"], verdicts["WA"]
    return OracleComparison(agreeing, differing, verdicts.total() - agreeing - differing)
