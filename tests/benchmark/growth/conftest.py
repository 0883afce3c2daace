"""A problem with a generator that takes a size."""

import pytest

from benchmark.models import Problem, SizedGenerator
from tests.benchmark.growth.synthetic import NUMBERS
from tests.problems import store_doubling


@pytest.fixture
def sized_problem(db: None) -> Problem:
    """Store a problem whose inputs are n and n numbers, for any n up to 4 000."""
    problem = store_doubling()
    SizedGenerator.objects.create(
        problem=problem,
        order=0,
        parameter="n",
        name=NUMBERS.name,
        language=NUMBERS.language,
        files=dict(NUMBERS.files),
        arguments="{size} {seed}",
        largest=4_000,
    )
    return problem
