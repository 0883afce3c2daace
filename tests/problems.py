"""A small problem for tests that need one in the bank."""

from benchmark.models import Dataset, Problem, TestCase, blobs
from judge import Checker

HIDDEN_INPUT = 987654
"""A canary: no page, prompt, export or output may contain it."""


def store_doubling(dataset: str = "practice", dataset_format: str = "icpc") -> Problem:
    """Store a problem: print twice the given number. It has one sample, two hidden tests and a secret analysis."""
    bank, _ = Dataset.objects.get_or_create(name=dataset, defaults={"format": dataset_format})
    problem = Problem.objects.create(
        dataset=bank,
        external_id="doubling",
        title="Doubling",
        tier="bronze",
        statement="Read a number and print twice the number.",
        statement_format="markdown",
        statement_html="<p>Read a number and print twice the number.</p>",
        analysis="SECRET-ANALYSIS: add the number to itself.",
        analysis_format="markdown",
        analysis_html="<p>SECRET-ANALYSIS: add the number to itself.</p>",
        time_limit=1.0,
        memory_limit=256 * 2**20,
        checker=Checker(kind="tokens").to_json(),
        content_hash="0" * 64,
    )
    add_doubling_tests(problem, HIDDEN_INPUT, 0)
    return problem


def add_doubling_tests(problem: Problem, *hidden: int) -> None:
    """Store the sample 3 and the hidden inputs, each with its double as the answer."""
    for order, (number, origin) in enumerate([(3, "sample"), *((number, "hidden") for number in hidden)]):
        TestCase.objects.create(
            problem=problem,
            order=order,
            name=f"{origin}-{order}",
            origin=origin,
            input_hash=blobs.put(f"{number}\n".encode()),
            answer_hash=blobs.put(f"{2 * number}\n".encode()),
        )
