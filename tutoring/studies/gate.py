"""The gate before freezing: facts about problems that may make their outcomes wrong, or that are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmark.models import Problem, ReferenceVerdict, TestCase
from judge import Verdict
from tutoring.studies.design import Design, GateFinding
from tutoring.studies.estimation import too_few_problems


def design_findings(design: Design, problems: int) -> list[GateFinding]:
    """Return the findings on a design with this number of eligible problems."""
    pairs = design.stopping.maximum or problems
    detail = too_few_problems(design.stopping.rule, design.stopping.threshold, pairs)
    return [GateFinding(problem="", kind="too few problems", detail=detail)] if detail else []


def gate_findings(problems: Sequence[Problem]) -> list[GateFinding]:
    """Return the findings on these problems, in their order. Two queries.

    The verdicts on reference programs are those that `manage.py verify_references` stored for the problem as it is now.
    """
    keys = [problem.pk for problem in problems]
    hidden = set(
        TestCase.objects.filter(problem__in=keys, origin=TestCase.Origin.HIDDEN)
        .order_by()
        .values_list("problem", flat=True)
        .distinct()
    )
    verdicts = {
        (row.problem_id, row.problem_hash): row
        for row in ReferenceVerdict.objects.filter(problem__in=keys).order_by("pk")
    }
    return [
        finding
        for problem in problems
        for finding in _of_problem(
            problem, problem.pk in hidden, verdicts.get((problem.pk, problem.content_hash))
        )
    ]


def _of_problem(problem: Problem, has_hidden: bool, stored: ReferenceVerdict | None) -> Iterator[GateFinding]:
    name = str(problem)
    if problem.samples_only or not has_hidden:
        yield GateFinding(
            problem=name, kind="no hidden tests", detail="Sessions would be judged on the samples alone."
        )
    if stored is None:
        detail = (
            f"Judge it: manage.py verify_references {problem.dataset.name} --problems {problem.external_id}"
        )
        yield GateFinding(problem=name, kind="reference not judged", detail=detail)
    elif stored.verdict in (Verdict.NO_CODE, Verdict.JE):
        yield GateFinding(problem=name, kind="reference not judged", detail=_sentence(stored))
    elif stored.verdict in (Verdict.TLE, Verdict.MLE):
        yield GateFinding(problem=name, kind="limits not met", detail=_sentence(stored))
    elif stored.verdict != Verdict.AC:
        yield GateFinding(problem=name, kind="reference not accepted", detail=_sentence(stored))


def _sentence(stored: ReferenceVerdict) -> str:
    return (
        f"The verdict on its reference programs is {stored.verdict}: {stored.reason or 'no reason is known'}."
    )
