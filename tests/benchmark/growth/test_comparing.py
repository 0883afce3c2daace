"""The slow program as oracle: the first difference on small inputs, reduced and stored."""

import pytest

from benchmark.growth import compare, difference_of
from benchmark.judging import request_judgement, store_submission
from benchmark.models import Judgement, Problem, ReferenceSolution, SlowComparison, Submission
from judge import SandboxStatus

pytestmark = pytest.mark.django_db

TOTAL = "import sys\nprint(sum(map(int, sys.stdin.read().split()[1:])))\n"
WRONG = "import sys\nvalues = list(map(int, sys.stdin.read().split()[1:]))\nprint(sum(values) + (len(values) > 2))\n"


def slow_program(problem: Problem, source: str, verdict: str = "AC") -> Submission:
    submission = store_submission(problem, source, "python")
    judgement = request_judgement(submission)
    judgement.result = {"tests": [{"name": "1", "sample": True, "verdict": verdict}]}
    judgement.state = Judgement.State.DONE
    judgement.save()
    return submission


def test_the_first_difference_is_found_and_stored_once(sized_problem: Problem, sandbox: SandboxStatus):
    ReferenceSolution.objects.create(
        problem=sized_problem, order=0, language="python", name="total.py", source=TOTAL
    )
    slow, candidate = slow_program(sized_problem, TOTAL), store_submission(sized_problem, WRONG, "python")
    found = compare(slow, candidate)
    assert found
    difference = difference_of(found)
    assert difference
    assert difference.input.split()[0] == "3"
    assert int(difference.candidate) == int(difference.slow) + 1
    assert found.slow_is_wrong is False
    assert compare(slow, candidate) == found
    assert SlowComparison.objects.count() == 1


def test_a_slow_program_that_is_wrong_is_named(sized_problem: Problem, sandbox: SandboxStatus):
    ReferenceSolution.objects.create(
        problem=sized_problem, order=0, language="python", name="total.py", source=TOTAL
    )
    found = compare(slow_program(sized_problem, WRONG), store_submission(sized_problem, TOTAL, "python"))
    assert found
    assert found.slow_is_wrong is True


def test_equal_programs_have_no_difference(sized_problem: Problem, sandbox: SandboxStatus):
    same = store_submission(sized_problem, f"{TOTAL}# equal\n", "python")
    found = compare(slow_program(sized_problem, TOTAL), same)
    assert found
    assert found.compared > 10
    assert difference_of(found) is None


def test_a_program_that_fails_a_sample_is_no_oracle(sized_problem: Problem):
    slow = slow_program(sized_problem, TOTAL, "WA")
    assert compare(slow, store_submission(sized_problem, WRONG, "python")) is None
