"""Judgements of programs before and after a hint, on all tests to the end. A program is judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import connection, transaction

import judge
from benchmark import judging
from benchmark.judging import copy_stored_verdict, fix_factor, request_judgement, store_submission
from benchmark.judging.threads import in_threads
from benchmark.models import Judgement, Problem


def judge_program(problem: Problem, source: str, language: str, *, purpose: Judgement.Purpose) -> Judgement:
    """Return the finished judgement of the program, stored or new. Its state is FAILED after a fault of the judge.

    With the purpose SCORE it shows whether the program is correct but slow.
    """
    # Copying a verdict needs the machine's factor. Its measurement takes seconds, during which a transaction would
    # hold SQLite's write lock.
    fix_factor("")
    with transaction.atomic():
        submission = store_submission(problem, source, language)
        done = Judgement.objects.filter(
            submission=submission,
            purpose=purpose,
            suite=Judgement.TestScope.ALL,
            test_suite=None,
            policy=judge.Policy.FAIR,
            stop_at_first_failure=False,
            memory_limit=None,
            counts=True,
            state=Judgement.State.DONE,
            problem_hash=problem.content_hash,
            result__judge_version=judge.JUDGE_VERSION,
        ).order_by("pk")
        if (stored := done.first()) is not None:
            return stored
        judgement = request_judgement(submission, purpose=purpose, stop_at_first_failure=False)
        if purpose == Judgement.Purpose.VERDICT and copy_stored_verdict(judgement):
            return judgement
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    return judgement


def judge_all(
    programs: Iterable[tuple[Problem, str, str]],
    *,
    jobs: int,
    purpose: Judgement.Purpose,
    judged: Callable[[tuple[Problem, str, str], Judgement], object],
) -> None:
    """Judge programs, given as problem, source and language, `jobs` at once.

    `judged` is called in this thread with each program and its judgement.
    """

    def work(program: tuple[Problem, str, str]) -> tuple[tuple[Problem, str, str], Judgement]:
        try:
            return program, judge_program(*program, purpose=purpose)
        finally:
            connection.close()

    if jobs == 1:
        for program in programs:
            judged(program, judge_program(*program, purpose=purpose))
        return
    in_threads(work, programs, jobs, lambda found: judged(*found))
