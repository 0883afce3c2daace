"""Stored problems in the form that the judge accepts: program files, tests and checker."""

import judge
from benchmark.functional import Signature, driven
from benchmark.models import Judgement, Problem, Suite, SuiteTest, TestCase, blobs

WHOLE_OUTPUT = 1_000_000
"""Maximum number of characters of a whole output: no prompt contains more."""


def program_files(problem: Problem, source: str, language: str) -> str | dict[str, str]:
    """Return what is judged: the program itself or, for a functional problem, the program and its driver by file name.

    Raises NotFunctionalError for a language that has no driver.
    """
    if problem.signature is None:
        return source
    return driven(source, Signature.from_json(problem.signature), language)


def checker_for(problem: Problem, policy: judge.Policy) -> judge.Checker:
    """Return how output is compared: with the problem's checker, or exactly for USACO problems under `compat`.

    The published benchmark compared whole texts (docs/spec.md 14).
    """
    if policy == judge.Policy.COMPAT and problem.dataset.format == "usaco":
        return judge.Checker(kind="exact")
    return judge.Checker.from_json(problem.checker)


def judge_tests(problem: Problem, suite: str, test_suite: Suite | None = None) -> list[judge.Test]:
    """Return the problem's tests: the samples, then (suite "all") the hidden tests.

    The hidden tests are those of `test_suite` if it is given, else the imported ones. Raises BlobMissingError and
    BlobStoreError if this host cannot get their files.
    """
    imported = problem.tests.all()
    if suite == Judgement.TestScope.SAMPLES or test_suite is not None:
        imported = imported.filter(origin=TestCase.Origin.SAMPLE)
    hidden = test_suite.tests.all() if test_suite is not None else SuiteTest.objects.none()
    cases: list[TestCase | SuiteTest] = [*imported, *hidden]
    blobs.fetch(digest for case in cases for digest in (case.input_hash, case.answer_hash))
    return [_judge_test(case) for case in cases]


def _judge_test(case: TestCase | SuiteTest) -> judge.Test:
    return judge.Test(
        case.name,
        input=blobs.path(case.input_hash),
        answer=blobs.path(case.answer_hash),
        sample=isinstance(case, TestCase) and case.origin == TestCase.Origin.SAMPLE,
    )
