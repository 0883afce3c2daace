"""The gate before freezing: facts about problems that may make their outcomes wrong, or that are unknown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from benchmark.judging.references import stored_or_published_programs
from benchmark.models import Judgement, Problem, TestCase
from judge import Verdict
from tutoring.studies.design import GateFinding


def gate_findings(problems: Sequence[Problem]) -> list[GateFinding]:
    """Return the findings on these problems, in their order. Three queries.

    The verdicts on reference programs are the stored ones, on all tests of the problem as it is now;
    `manage.py verify_references` stores them.
    """
    keys = [problem.pk for problem in problems]
    hidden = set(
        TestCase.objects.filter(problem__in=keys, origin=TestCase.Origin.HIDDEN)
        .order_by()
        .values_list("problem", flat=True)
        .distinct()
    )
    verdicts = _reference_verdicts(problems)
    return [finding for problem in problems for finding in _of_problem(problem, hidden, verdicts[problem.pk])]


def _of_problem(problem: Problem, hidden: set[int], verdicts: set[str] | None) -> Iterator[GateFinding]:
    name = str(problem)
    if problem.samples_only or problem.pk not in hidden:
        yield GateFinding(
            problem=name, kind="no hidden tests", detail="Sessions would be judged on the samples alone."
        )
    if verdicts is None:
        detail = "It has no reference program, so its tests and limits cannot be checked."
        yield GateFinding(problem=name, kind="reference not judged", detail=detail)
    elif not verdicts:
        detail = (
            f"Judge it: manage.py verify_references {problem.dataset.name} --problems {problem.external_id}"
        )
        yield GateFinding(problem=name, kind="reference not judged", detail=detail)
    elif Verdict.AC not in verdicts:
        slow = Verdict.TLE in verdicts or Verdict.MLE in verdicts
        detail = f"The verdict on its reference programs is {', '.join(sorted(verdicts))}."
        kind = "limits not met" if slow else "reference not accepted"
        yield GateFinding(problem=name, kind=kind, detail=detail)


def _reference_verdicts(problems: Sequence[Problem]) -> dict[int, set[str] | None]:
    """Return the stored verdicts on the reference programs of each problem; None for a problem without programs."""
    hashes: dict[int, set[str]] = {}
    for problem in problems:
        programs = stored_or_published_programs(problem)
        hashes[problem.pk] = {hashlib.sha256(one.source.encode()).hexdigest() for one in programs}
    current = {problem.pk: problem.content_hash for problem in problems}
    judged = Judgement.objects.filter(
        submission__problem__in=current,
        submission__source_hash__in=set().union(*hashes.values()),
        suite=Judgement.Suite.ALL,
        test_suite=None,
        state=Judgement.State.DONE,
    ).values_list("submission__problem", "submission__source_hash", "problem_hash", "verdict")
    found: dict[int, set[str] | None] = {key: set() if hashes[key] else None for key in current}
    for problem_key, source_hash, problem_hash, verdict in judged:
        verdicts = found[problem_key]
        if (
            verdicts is not None
            and source_hash in hashes[problem_key]
            and problem_hash == current[problem_key]
        ):
            verdicts.add(verdict)
    return found
