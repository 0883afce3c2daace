"""Candidates with the results of their verifier and of the official judge, and figures of both (docs/spec.md 0.1)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmark import judging
from benchmark.models import (
    Candidate,
    Generation,
    Judgement,
    Problem,
    Run,
    Submission,
    Verification,
    Verifier,
)
from benchmark.oracles.quality import agreement
from benchmark.oracles.ranking import by_majority, n_at_k

RANKINGS = {
    "verifier": "verifier",
    "samples": "examples only",
    "written": "tests written by the model",
    "majority": "majority",
    "random": "random",
}
"""The rankings of candidates (docs/spec.md 3.3, T16) with their labels."""


@dataclass(frozen=True)
class NamedCandidate:
    """A program to verify. `accepted` is the official verdict, None if unknown."""

    problem: Problem
    name: str
    submission: Submission
    accepted: bool | None


@dataclass(frozen=True)
class VerifiedCandidate:
    """A candidate with its verification."""

    candidate: NamedCandidate
    verification: Verification

    def passes(self, *kinds: str) -> int | None:
        """Return the number of passed tests of these kinds; None if it is unknown or a kind has no tests."""
        outcomes: dict[str, str] | None = self.verification.outcomes
        if outcomes is None or not all(outcomes[kind] for kind in kinds if kind != "samples"):
            return None
        return sum(outcomes[kind].count("1") for kind in kinds)

    def to_json(self) -> dict[str, Any]:
        """Return the entry that `verify_candidates --json` prints."""
        result = self.verification
        return {
            "problem": self.candidate.problem.external_id,
            "candidate": self.candidate.name,
            "official": self.candidate.accepted,
            "samples_passed": result.samples_passed,
            "accepted": result.accepted,
            "passed": result.passed,
            "total": result.total,
            "slow": result.slow,
            "coverage": result.coverage,
            "outcomes": result.outcomes,
            "failures": result.failures,
            "minimal": result.minimal,
        }


@dataclass(frozen=True)
class CandidateFigures:
    """Agreement as (agreeing, total), mean Coverage, and n@k by n and ranking; None if undefined.

    `at` contains only the rankings by the verifier, by majority and at random, as in older versions.
    """

    agreement_of_samples: tuple[int, int]
    agreement_of_all: tuple[int, int]
    coverage: dict[str, float] | None
    at: dict[int, dict[str, float | None]]
    rankings: dict[int, dict[str, float | None]]

    def to_json(self) -> dict[str, Any]:
        """Return the figures as a JSON object."""
        return {
            "agreement": {
                "samples": dict(zip(("agreeing", "total"), self.agreement_of_samples, strict=True)),
                "all": dict(zip(("agreeing", "total"), self.agreement_of_all, strict=True)),
            },
            "coverage": self.coverage,
            "n_at_k": self.at,
            "rankings": self.rankings,
        }


def imported_candidates(problems: Iterable[Problem]) -> Iterator[NamedCandidate]:
    """Yield the candidates that were imported with the problems."""
    rows = Candidate.objects.filter(problem__in=list(problems)).select_related(
        "submission", "problem__dataset"
    )
    for row in rows.order_by("problem__external_id", "name"):
        accepted = row.official_verdict == "AC" if row.official_verdict else None
        yield NamedCandidate(row.problem, row.name, row.submission, accepted)


_NO_ANSWER = (
    Generation.Purpose.VERIFIER,
    Generation.Purpose.DRAFT,
    Generation.Purpose.TUTOR,
    Generation.Purpose.CRITIQUE,
    Generation.Purpose.RECORDED,
)


def candidates_of_run(
    run: Run, problems: Collection[Problem] = (), *, judge_missing: bool
) -> Iterator[NamedCandidate]:
    """Yield every program that a run's model submitted, for these problems or, without any, for all.

    The hidden tests determine the official verdict.

    With `judge_missing`, programs without a stored judgement are judged now; otherwise their verdict is unknown.
    Problems with samples only have no official verdict.
    """
    rows = Generation.objects.filter(work_item__run=run).exclude(purpose__in=_NO_ANSWER)
    if problems:
        rows = rows.filter(work_item__problem__in=problems)
    rows = rows.exclude(code="").select_related("work_item__problem__dataset")
    for row in rows.order_by("work_item__problem__external_id", "work_item__chain", "step"):
        problem = row.work_item.problem
        submission = judging.store_submission(problem, row.code, str(run.parameters["language"]))
        accepted = None if problem.samples_only else _accepted(submission, run, judge_missing)
        yield NamedCandidate(problem, f"chain {row.work_item.chain} step {row.step}", submission, accepted)


def stored_verifications(candidates: Iterable[NamedCandidate]) -> list[VerifiedCandidate]:
    """Return the candidates with stored verifications by their problems' newest verifiers."""
    chosen = list(candidates)
    problems = {one.problem.pk for one in chosen}
    built = Verifier.objects.filter(problem__in=problems).exclude(state=Verifier.State.PROGRAMS)
    newest = {problem: pk for pk, problem in built.order_by("pk").values_list("pk", "problem")}
    rows = Verification.objects.filter(verifier__in=newest.values()).defer("failures")
    by_submission = {row.submission_id: row for row in rows}
    return [
        VerifiedCandidate(one, by_submission[one.submission.pk])
        for one in chosen
        if one.submission.pk in by_submission
    ]


def _accepted(submission: Submission, run: Run, judge_missing: bool) -> bool | None:
    """Return whether the hidden tests accept the program; None without a judgement, or after a judge fault."""
    stored = _stored_judgement(submission, run)
    if stored is None and not judge_missing:
        return None
    if stored is None:
        stored = judging.request_judgement(
            submission, policy=run.parameters["policy"], speed_scope=judging.scope_of_run(run)
        )
        judging.perform(stored.pk)
        stored.refresh_from_db()
    return None if stored.state != Judgement.State.DONE else stored.verdict == "AC"


def _stored_judgement(submission: Submission, run: Run) -> Judgement | None:
    """Return the newest judgement that counts under the time factor of the run.

    Runs whose factor is unknown, such as imported ones, take the newest judgement under any factor.
    """
    rows = submission.judgements.filter(
        suite=Judgement.TestScope.ALL,
        test_suite=None,
        state=Judgement.State.DONE,
        counts=True,
        policy=run.parameters["policy"],
    )
    factors = judging.factors_of_run(run)
    return (rows.filter(time_factor__in=factors) if factors else rows).first()


def figures(verified: Sequence[VerifiedCandidate], ns: Sequence[int]) -> CandidateFigures:
    """Return the figures of these candidates. n@k covers the problems whose candidates all have an official verdict."""
    known = [one for one in verified if one.candidate.accepted is not None]
    official = [bool(one.candidate.accepted) for one in known]
    covered = [one.verification.coverage for one in verified if one.verification.coverage]
    judged = judged_groups(verified)
    ranked = {n: rankings(judged, n) for n in ns}
    return CandidateFigures(
        agreement(zip([one.verification.samples_passed for one in known], official, strict=True)),
        agreement(zip([one.verification.accepted for one in known], official, strict=True)),
        {name: sum(one[name] for one in covered) / len(covered) for name in ("samples", "all")}
        if covered
        else None,
        {n: {name: one[name] for name in ("verifier", "majority", "random")} for n, one in ranked.items()},
        ranked,
    )


def judged_groups(verified: Iterable[VerifiedCandidate]) -> list[list[VerifiedCandidate]]:
    """Return the candidates by problem, for problems whose candidates all have an official verdict."""
    problems: dict[int, list[VerifiedCandidate]] = defaultdict(list)
    for one in verified:
        problems[one.candidate.problem.pk].append(one)
    return [group for group in problems.values() if all(one.candidate.accepted is not None for one in group)]


def rankings(groups: Sequence[Sequence[VerifiedCandidate]], n: int) -> dict[str, float | None]:
    """Return n@k by ranking, averaged over the problems; None if a ranking or n@k is undefined.

    `verifier` ranks by samples and oracle tests; `samples` by the statement's examples; `written` by the examples and
    by tests whose answers the model wrote (docs/spec.md 3.3, T16); `majority` by equal outputs; `random` gives equal
    scores.
    """
    scores: dict[str, list[Sequence[float | None]]] = {
        "verifier": [[one.verification.passed for one in group] for group in groups],
        "samples": [[one.passes("samples") for one in group] for group in groups],
        "written": [[one.passes("samples", "written") for one in group] for group in groups],
        "majority": [by_majority([one.verification.output_hash for one in group]) for group in groups],
        "random": [[0] * len(group) for group in groups],
    }
    return {name: mean_n_at_k(groups, of_groups, n) for name, of_groups in scores.items()}


def mean_n_at_k(
    groups: Sequence[Sequence[VerifiedCandidate]], scores: Sequence[Sequence[float | None]], n: int
) -> float | None:
    """Return the mean n@k of the problems by these scores; None without problems, a score, or n candidates."""
    values = []
    for group, own in zip(groups, scores, strict=True):
        known = [score for score in own if score is not None]
        if len(known) < len(group) or not 1 <= n <= len(group):
            return None
        solved = [bool(one.candidate.accepted) for one in group]
        values.append(n_at_k(list(zip(known, solved, strict=True)), n))
    return fmean(values) if values else None
