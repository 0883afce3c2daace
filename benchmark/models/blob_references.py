"""The blobs that rows name."""

from collections.abc import Iterable, Iterator
from typing import Any

from benchmark.models.oracles import Verifier
from benchmark.models.problems import Figure, TestCase
from benchmark.models.rejudging import ProblemVersion
from benchmark.models.suites import ListedTest, SuiteTest

_TEST_HASHES = slice(2, 4)
"""The indices of the hashes of input and answer in a test of a `ProblemVersion`."""


def referenced_digests() -> set[str]:
    """Return the digests of all blobs that rows name: tests, figures, former tests and inputs of verifiers."""
    return {digest for digest in _references() if digest}


def sample_of_digests(size: int) -> list[str]:
    """Return the digests of about `size` blobs that rows name, drawn at random."""
    tests = TestCase.objects.order_by("?").values_list("input_hash", "answer_hash")[:size]
    figures = Figure.objects.order_by("?").values_list("content_hash", flat=True)[:size]
    return list(dict.fromkeys([*(one for pair in tests for one in pair), *figures]))[:size]


def _references() -> Iterator[str]:
    for model in (TestCase, SuiteTest, ListedTest):
        for pair in model.objects.order_by().values_list("input_hash", "answer_hash").iterator():
            yield from pair
    yield from Figure.objects.order_by().values_list("content_hash", flat=True).iterator()
    for tests in ProblemVersion.objects.order_by().values_list("tests", flat=True).iterator():
        for test in tests:
            yield from test[_TEST_HASHES]
    for record in Verifier.objects.order_by().values_list("record", flat=True).iterator():
        yield from _digests_in(record.get(name) for name in ("disputed", "stress", "written_tests"))


def _digests_in(entries: Iterable[Any]) -> Iterator[str]:
    """Yield the digests in lists of digests and of mappings with digests as values."""
    for entry in entries:
        for one in entry or ():
            yield from one.values() if isinstance(one, dict) else (one,)
