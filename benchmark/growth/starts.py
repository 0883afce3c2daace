"""Start programs: stored programs whose only failures are exceeded time limits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from benchmark.models import Generation, Judgement, Problem, Submission
from judge import Policy, Verdict

ARM_PREFIX = "slow-"
"""The beginning of the names of the methods that repair slow programs."""


@dataclass(frozen=True)
class Start:
    """A slow program. `right` means that it passes all tests within four times the limit; False: unknown."""

    submission: int
    problem: str
    right: bool


def find_starts(problems: Iterable[Problem], language: str) -> dict[str, list[Start]]:
    """Return the start programs in the language by the ids of problems, right ones first, then the oldest first.

    Every test of every judgement is accepted or exceeds the time limit. Judgements of an older version of the problem,
    those on generated suites, and those of repairs of slow programs do not count: all arms begin with the same
    programs.
    """
    found: dict[int, Start] = {}
    wrong: set[int] = set()
    for row, problem in _judgements(problems, language):
        tests = {test["verdict"] for test in (row.result or {}).get("tests", ())}
        if not tests <= {Verdict.AC, Verdict.TLE}:
            wrong.add(row.submission_id)
        before = found.get(row.submission_id)
        right = row.relaxed_verdict == Verdict.AC or (before is not None and before.right)
        found[row.submission_id] = Start(row.submission_id, problem, right)
    starts: dict[str, list[Start]] = {}
    slow = [one for one in found.values() if one.submission not in wrong]
    for start in sorted(slow, key=lambda one: (not one.right, one.submission)):
        starts.setdefault(start.problem, []).append(start)
    return starts


def _judgements(problems: Iterable[Problem], language: str) -> Iterator[tuple[Judgement, str]]:
    """Yield the finished judgements on the imported tests that found a program too slow."""
    by_id = {problem.pk: problem for problem in problems}
    repairs = Generation.objects.filter(
        Q(hidden_judgement=OuterRef("pk")) | Q(work_item__judgement=OuterRef("pk")),
        work_item__run__method__startswith=ARM_PREFIX,
    )
    rows = Judgement.objects.filter(
        ~Exists(repairs),
        submission__problem__in=by_id,
        submission__language=language,
        suite=Judgement.TestScope.ALL,
        test_suite=None,
        policy=Policy.FAIR,
        state=Judgement.State.DONE,
        counts=True,
        verdict=Verdict.TLE,
    ).select_related("submission")
    for row in rows.order_by("pk"):
        problem = by_id[row.submission.problem_id]
        if row.problem_hash == problem.content_hash:
            yield row, problem.external_id


def sources_of(submissions: Iterable[int]) -> dict[int, str]:
    """Return the programs by the ids of their submissions."""
    return dict(Submission.objects.filter(pk__in=submissions).values_list("pk", "source"))
