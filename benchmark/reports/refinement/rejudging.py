"""The programs of ICPC-Eval's result files in our judge: its verdicts beside theirs, and the curve they give."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from benchmark import judging
from benchmark.judging.threads import in_threads
from benchmark.models import Dataset, Judgement, Problem
from benchmark.reports.refinement.curves import Curve, Refinement, curve_of
from benchmark.reports.refinement.eval_results import EvalResults, ResultAttempt
from judge import Policy, Verdict

LANGUAGE = "cpp23"
"""What the published prompts ask for."""

_OTHER_HANDS = 0.5
"""Seconds between two looks at a judgement that another process, perhaps a dead one, has claimed."""


@dataclass(frozen=True)
class Compared:
    """What both judges say of an attempt; `published` is None where the file does not tell a verdict."""

    attempt: ResultAttempt
    ours: Verdict

    @property
    def published(self) -> Verdict | None:
        return self.attempt.verdict

    @property
    def agrees(self) -> bool:
        """Whether both accept it or both do not. An attempt that theirs rejected on a sample was never submitted."""
        return (self.published is Verdict.AC) == (self.ours is Verdict.AC)

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
        published = self.published.value if self.published else None
        return {
            "problem": self.attempt.problem,
            "attempt": self.attempt.number,
            "published": published,
            "ours": self.ours.value,
        }


@dataclass(frozen=True)
class Rejudged:
    """All programs of a file whose problems are in the dataset. `faults`, of our judge, count against nobody.

    `published` and `ours` are the curves over the problems whose programs were all judged; None without any.
    """

    dataset: str
    compared: tuple[Compared, ...]
    missing: tuple[str, ...]
    faults: tuple[str, ...]
    published: Curve | None
    ours: Curve | None

    @property
    def disagreements(self) -> list[Compared]:
        """The attempts that one judge accepts and the other does not."""
        return [one for one in self.compared if not one.agrees]

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
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
    """Judge every program of the file, `jobs` at once. `begin` is told how many are not judged yet.

    Each judgement is a row, so what was judged before is not judged again, by whichever command.
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
            compared.append(Compared(one, Verdict(row.verdict) if row else Verdict.NO_CODE))
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


def _ours(published: Refinement, compared: Sequence[Compared]) -> Refinement:
    """The chain as our verdicts have it."""
    mine = [one.ours for one in compared if one.attempt.problem == published.problem]
    accepted = next((place for place, verdict in enumerate(mine, 1) if verdict is Verdict.AC), None)
    return Refinement(
        published.problem, published.attempts, accepted, published.tokens, published.first_start
    )


def _judgement(problem: Problem, code: str) -> Judgement:
    """That of the program on these tests, finished, begun or new. One that failed is asked for again."""
    submission = judging.store_submission(problem, code, LANGUAGE)
    known = submission.judgements.filter(
        suite=Judgement.Suite.ALL,
        test_suite=None,
        policy=Policy.FAIR,
        problem_hash=problem.content_hash,
        stop_at_first_failure=True,
    ).exclude(state=Judgement.State.FAILED)
    return known.first() or judging.request_judgement(submission)


def _perform(judgement_id: int) -> None:
    """Judge in a thread, which has a database connection of its own."""
    try:
        while True:
            judging.perform(judgement_id)
            state = Judgement.objects.values_list("state", flat=True).get(pk=judgement_id)
            if state in (Judgement.State.DONE, Judgement.State.FAILED):
                return
            time.sleep(_OTHER_HANDS)
    finally:
        connection.close()
