"""Rejudging of the programs in ICPC-Eval's result files: verdicts and curves of both judges."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q

from benchmark import judging
from benchmark.judging.threads import in_threads
from benchmark.models import Dataset, Judgement, Problem
from benchmark.reports.refinement.curves import Refinement, RefinementCurve, curve_of
from benchmark.reports.refinement.eval_results import EvalResults, ResultAttempt
from judge import Policy, Verdict

LANGUAGE = "cpp23"
"""The language that the published prompts ask for."""

_POLL_SECONDS = 0.5
"""Seconds between two reads of a judgement that another process has claimed."""


@dataclass(frozen=True)
class JudgePair:
    """The verdicts of both judges on an attempt."""

    attempt: ResultAttempt
    ours: Verdict

    @property
    def published(self) -> Verdict | None:
        """Return the verdict in the file; None if it holds none."""
        return self.attempt.verdict

    @property
    def agrees(self) -> bool:
        """Return whether both judges accept the attempt or both reject it."""
        return (self.published is Verdict.AC) == (self.ours is Verdict.AC)

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        published = self.published.value if self.published else None
        return {
            "problem": self.attempt.problem,
            "attempt": self.attempt.number,
            "published": published,
            "ours": self.ours.value,
        }


@dataclass(frozen=True)
class Rejudged:
    """The rejudged programs of a file, for the problems in the dataset.

    `compared` leaves out programs that failed because of our judge, which `faults` lists. `published` and `ours` are
    the curves over the problems without such faults; None if there is no such problem.
    """

    dataset: str
    compared: tuple[JudgePair, ...]
    missing: tuple[str, ...]
    faults: tuple[str, ...]
    published: RefinementCurve | None
    ours: RefinementCurve | None

    @property
    def disagreements(self) -> list[JudgePair]:
        """Return the attempts that only one judge accepts."""
        return [one for one in self.compared if not one.agrees]

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        pairs = Counter((str(one.published or "untold"), str(one.ours)) for one in self.compared)
        return {
            "dataset": self.dataset,
            "attempts": len(self.compared),
            "agree": len(self.compared) - len(self.disagreements),
            "disagreements": [one.to_json() for one in self.disagreements],
            "verdicts": [
                {"published": published, "ours": ours, "attempts": count}
                for (published, ours), count in sorted(pairs.items())
            ],
            "missing_problems": list(self.missing),
            "faults": list(self.faults),
            "published_curve": self.published.to_json() if self.published else None,
            "our_curve": self.ours.to_json() if self.ours else None,
        }


def rejudge(
    results: EvalResults,
    dataset: Dataset,
    jobs: int,
    begin: Callable[[int], object],
    advance: Callable[[], object],
) -> Rejudged:
    """Judge all programs of the file, `jobs` at once. Stored judgements are used again.

    `begin` is called with the number of programs to judge, `advance` after each of them.
    """
    problems = {one.external_id: one for one in dataset.problems.select_related("dataset")}
    there = [one for one in results.attempts if one.problem in problems and not one.charged]
    rows: dict[ResultAttempt, Judgement] = {
        one: _judgement(problems[one.problem], one.code) for one in there if one.code.strip()
    }
    waiting = {row.pk for row in rows.values() if row.state != Judgement.State.DONE}
    begin(len(waiting))
    in_threads(_perform, waiting, jobs, lambda _: advance())
    judged = Judgement.objects.in_bulk([row.pk for row in rows.values()])
    compared, faults = [], []
    for one in there:
        row = judged[rows[one].pk] if one in rows else None
        if row and row.state == Judgement.State.FAILED:
            faults.append(f"problem {one.problem}, attempt {one.number}: {row.fault}")
        else:
            compared.append(JudgePair(one, Verdict(row.verdict) if row else Verdict.NO_CODE))
    incomplete = {fault.split(",")[0].removeprefix("problem ") for fault in faults}
    counted = [one for one in results.uncharged if one.problem in problems and one.problem not in incomplete]
    return Rejudged(
        dataset=dataset.name,
        compared=tuple(compared),
        missing=tuple(one.problem for one in results.refinements if one.problem not in problems),
        faults=tuple(faults),
        published=curve_of(counted, results.k) if counted else None,
        ours=curve_of([_ours(one, compared) for one in counted], results.k) if counted else None,
    )


def _ours(published: Refinement, compared: Sequence[JudgePair]) -> Refinement:
    """Return the chain with our verdicts."""
    mine = [one.ours for one in compared if one.attempt.problem == published.problem]
    accepted = next((place for place, verdict in enumerate(mine, 1) if verdict is Verdict.AC), None)
    return Refinement(
        published.problem, published.attempts, accepted, published.tokens, published.first_start
    )


def _judgement(problem: Problem, code: str) -> Judgement:
    """Return the judgement of the program on all tests, a new one if there is none or the judge failed."""
    submission = judging.store_submission(problem, code, LANGUAGE)
    known = submission.judgements.filter(
        suite=Judgement.TestScope.ALL,
        test_suite=None,
        policy=Policy.FAIR,
        problem_hash=problem.content_hash,
        stop_at_first_failure=True,
        counts=True,
    )
    factor = judging.applied_factor(problem.dataset, Policy.FAIR, "").factor
    open_or_equal = ~Q(state__in=(Judgement.State.DONE, Judgement.State.FAILED)) | Q(
        state=Judgement.State.DONE, time_factor=factor
    )
    return known.filter(open_or_equal).first() or judging.request_judgement(submission)


def _perform(judgement_id: int) -> None:
    """Judge in a thread, and close the thread's database connection."""
    try:
        while True:
            judging.perform(judgement_id)
            state = Judgement.objects.values_list("state", flat=True).get(pk=judgement_id)
            if state in (Judgement.State.DONE, Judgement.State.FAILED):
                return
            time.sleep(_POLL_SECONDS)
    finally:
        connection.close()
