"""Feedback on a program: the real judge on the samples, without any hidden test."""

import pytest

from benchmark import judging
from benchmark.models import Judgement, Problem, TestCase
from benchmark.prompts import PromptLeakError, SampleResult, SampleRun, our_templates
from benchmark.prompts.feedback import SHOWN, describe
from judge import Verdict
from tests.problems import HIDDEN_INPUT, store_doubling

FAILED = "Sample 1: run-time error: "
UNJUDGED = "Nothing was judged, because of an error in the format of the answer."


def judged(
    problem: Problem, program: str, suite: Judgement.TestScope, *, whole_output: bool = False
) -> Judgement:
    submission = judging.store_submission(problem, program, "python")
    judgement = judging.request_judgement(
        submission, suite=suite, stop_at_first_failure=False, whole_output=whole_output
    )
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    return judgement


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("program", "verdict", "told"),
    [
        ("print(2 * int(input()))", Verdict.AC, "Sample 1: passed."),
        (
            "print('hm', int(input()) ** 2)",
            Verdict.WA,
            "Sample 1: wrong answer.\nInput:\n3\nOutput of your program:\nhm 9\nExpected output:\n6",
        ),
        ("print(1 // (int(input()) - 3))", Verdict.RTE, "ZeroDivisionError"),
        ("print(2 * int(input())", Verdict.CE, "The program does not compile, so it was not run."),
        ("x = 'y' * 5000\nprint(x)", Verdict.WA, "y" * SHOWN + f"\n[cut after {SHOWN} characters]\n"),
    ],
)
def test_feedback_describes_the_results_on_the_samples(
    db: None, program: str, verdict: Verdict, told: str
) -> None:
    problem = store_doubling()
    ran = SampleRun.of(problem, judged(problem, program, Judgement.TestScope.SAMPLES))
    assert (ran.verdict, ran.passed) == (verdict, verdict is Verdict.AC)
    text = describe(ran, "samples", our_templates())
    assert told in text
    assert str(HIDDEN_INPUT) not in text


DEEP = "def f():\n    g()\ndef g():\n    raise KeyError('no cow')\nf()"
LINES = "raise ValueError('first: line\\nsecond line')"


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("program", "verdict", "told"),
    [
        ("print(2 * int(input()))", Verdict.AC, "Sample 1: passed."),
        (
            "print('y' * 5000)",
            Verdict.WA,
            f"Sample 1: wrong answer.\nInput:\n3\nOutput of your program:\n{'y' * 5000}\nExpected output:\n6",
        ),
        ("print(1 // (int(input()) - 3))", Verdict.RTE, f"{FAILED}integer division or modulo by zero"),
        (DEEP, Verdict.RTE, f"{FAILED}'no cow'"),
        (LINES, Verdict.RTE, f"{FAILED}first: line\nsecond line"),
        ("raise ValueError", Verdict.RTE, FAILED),
        ("import sys\nsys.exit(3)", Verdict.RTE, f"{FAILED}3"),
        ("import sys\nsys.exit('No cow.')", Verdict.RTE, f"{FAILED}No cow."),
        ("x = bytearray(2**29)", Verdict.MLE, FAILED),
        ("import os\nos.kill(os.getpid(), 11)", Verdict.RTE, "Sample 1: timed out."),
        ("print(2 * int(input())", Verdict.CE, UNJUDGED),
    ],
)
def test_the_published_code_tells_by_kind_of_failure(
    db: None, program: str, verdict: Verdict, told: str
) -> None:
    problem = store_doubling()
    judgement = judged(problem, program, Judgement.TestScope.SAMPLES, whole_output=True)
    ran = SampleRun.of(problem, judgement)
    assert ran.verdict is verdict
    assert describe(ran, "usaco-code", our_templates()) == told


def test_an_answer_without_a_program_or_a_problem_without_samples_is_told_as_the_published_code_does() -> (
    None
):
    assert describe(SampleRun(Verdict.NO_CODE), "usaco-code", our_templates()) == UNJUDGED
    assert describe(SampleRun(Verdict.AC), "usaco-code", our_templates()) == ""


def test_the_published_code_tells_nothing_of_a_program_that_is_too_slow() -> None:
    slow = SampleRun(Verdict.TLE, (SampleResult(Verdict.TLE, "3", "a beginning", "6", "used 2 s"),))
    assert describe(slow, "usaco-code", our_templates()) == "Sample 1: timed out."


@pytest.mark.usefixtures("sandbox")
def test_a_judgement_on_the_hidden_tests_is_refused_even_when_it_calls_itself_one_on_the_samples(
    db: None,
) -> None:
    problem = store_doubling()
    judgement = judged(problem, "print(input())", Judgement.TestScope.ALL)
    assert judgement.result is not None
    assert str(HIDDEN_INPUT) in str(judgement.result)
    with pytest.raises(PromptLeakError, match="not a finished one on the samples"):
        SampleRun.of(problem, judgement)
    judgement.suite = Judgement.TestScope.SAMPLES
    with pytest.raises(PromptLeakError, match="a test that is not a sample"):
        SampleRun.of(problem, judgement)


@pytest.mark.usefixtures("sandbox")
def test_a_test_that_was_a_sample_and_is_none_any_more_is_not_told(db: None) -> None:
    problem = store_doubling()
    judgement = judged(problem, "print(1)", Judgement.TestScope.SAMPLES)
    problem.tests.update(origin=TestCase.Origin.HIDDEN)
    with pytest.raises(PromptLeakError):
        SampleRun.of(problem, judgement)


def test_no_sample_at_all_is_passed_by_any_program_and_said_to_be_so() -> None:
    nothing_run = SampleRun(Verdict.AC)
    assert nothing_run.passed
    assert (
        describe(nothing_run, "samples", our_templates())
        == "The statement has no sample, so nothing was run."
    )
    assert not SampleRun(Verdict.NO_CODE).passed
