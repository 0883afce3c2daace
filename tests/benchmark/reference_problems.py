"""Small stored problems for the tests of the commands that judge."""

from benchmark.models import Dataset, Problem
from judge import Checker
from tests.problems import add_doubling_tests

HIDDEN_NUMBER = 48613579
"""The number in the hidden test; no output may show this number or its double."""


def store_doubling(external_id: str = "doubling", analysis: str = "") -> Problem:
    """Store a problem: print twice the given number. It has a sample (3) and a hidden test."""
    dataset, _ = Dataset.objects.get_or_create(name="small", defaults={"format": "usaco"})
    problem = Problem.objects.create(
        dataset=dataset,
        external_id=external_id,
        title="Doubling",
        statement="Read a number and print twice the number.",
        statement_format="usaco",
        analysis=analysis,
        analysis_format="usaco" if analysis else "",
        time_limit=1.0,
        memory_limit=256 * 2**20,
        checker=Checker(kind="tokens").to_json(),
        content_hash="0" * 64,
    )
    add_doubling_tests(problem, HIDDEN_NUMBER)
    return problem
