"""The arms of slow programs: start programs, prompts, and the practice student's answers to them."""

import asyncio

import pytest
from django.core.management import CommandError, call_command

from benchmark.growth.examples import QUADRATIC
from benchmark.growth.starts import ARM_PREFIX, find_starts
from benchmark.growth.wording import feedback_text
from benchmark.judging import request_judgement, store_submission
from benchmark.methods import METHODS, DryChain, count_calls
from benchmark.methods.slow import SLOW_METHODS, STARTS, SlowSettings
from benchmark.models import Generation, Judgement, Problem, Run, WorkItem
from benchmark.prompts import HiddenRun, VisibleProblem
from benchmark.prompts.slow import (
    LastProgram,
    growth_feedback,
    neutral_feedback,
    program_reply,
    slow_prompt,
    told_feedback,
)
from benchmark.providers import Message, parse_model_spec
from benchmark.providers.practice import ScriptStage, StudentScript, practice_scripts, reply_to
from benchmark.runner import RunOptions, RunScope, plan_like, plan_run, start_run
from judge import Verdict
from tests.problems import store_doubling

SLOW_STAGES = [
    (script, number)
    for script in practice_scripts()
    for number, stage in enumerate(script.stages)
    if stage.verdict == "TLE"
]


def task_of(script: StudentScript) -> VisibleProblem:
    return VisibleProblem(script.slug, f"{script.title}: {script.phrase}", time_limit=1, memory_limit=2**28)


def answer_to(script: StudentScript, stage: ScriptStage, feedback: str) -> str:
    last = LastProgram(program_reply(stage.program, "python"))
    prompt = slow_prompt(task_of(script), SlowSettings().form, last, feedback)
    return reply_to([Message(one.role, one.content) for one in prompt.messages])


@pytest.mark.parametrize(("script", "number"), SLOW_STAGES, ids=lambda value: getattr(value, "slug", value))
def test_the_practice_student_converts_on_growth_and_not_on_neutral(script: StudentScript, number: int):
    stage, form = script.stages[number], SlowSettings().form
    assert stage.program in answer_to(script, stage, neutral_feedback(form))
    converted = answer_to(script, stage, growth_feedback(feedback_text(QUADRATIC), form))
    assert script.stages[number + 1].program in converted


def test_some_practice_students_do_not_believe_that_a_program_may_be_too_slow():
    form = SlowSettings().form
    doubting = {
        script.slug
        for script, number in SLOW_STAGES
        if script.stages[number].program
        in answer_to(script, script.stages[number], told_feedback(task_of(script), form))
    }
    assert doubting == {"hut-to-hut", "seed-bank"}


def test_every_arm_is_a_method_with_a_warning():
    names = [method.name for method in SLOW_METHODS]
    assert names == ["slow-neutral", "slow-told", "slow-growth", "slow-growth+oracle", "slow-replan"]
    for name in names:
        assert "converted" in METHODS[name].warning
        assert count_calls(METHODS[name]) == "1 to 3"


class SlowChain(DryChain):
    """A chain whose programs pass the samples and exceed the time limit on hidden tests."""

    async def run_hidden(self, _answer: Generation) -> HiddenRun:
        return HiddenRun(Verdict.TLE)


class Library:
    async def read_once(self, name, read):
        return {7: "print(7)"}

    problems = textbook = represented = None


@pytest.mark.parametrize("arm", ["neutral", "told", "growth", "growth+oracle", "replan"])
def test_each_prompt_shows_the_last_program_and_the_feedback_of_the_arm(arm: str):
    method = METHODS[ARM_PREFIX + arm]
    task = VisibleProblem("0", "statement", time_limit=2, memory_limit=2**28)
    prepared = {STARTS: {"0": [{"submission": 7, "right": True}]}}
    chain = SlowChain(task, Library(), passes=True, prepared=prepared)  # type: ignore[arg-type]
    asyncio.run(method.solve(chain, SlowSettings()))
    first, second, third = (request.prompt for request in chain.requests)
    assert len(first.messages) == len(second.messages) == len(third.messages) == 3
    assert "print(7)" in first.messages[1].content
    assert "print(7)" not in second.messages[1].content
    expected = {
        "neutral": "Please try again.",
        "told": "may be too slow for the largest inputs. The time limit is 2 s",
        "growth": "about n^2.0 (95 % interval 1.9 to 2.1)",
        "growth+oracle": "about n^2.0 (95 % interval 1.9 to 2.1)",
        "replan": "First state, in a few sentences",
    }[arm]
    assert expected in first.messages[2].content
    later = "print different outputs" if arm == "growth+oracle" else expected
    assert later in third.messages[2].content


def judged(problem: Problem, source: str, verdicts: list[str], **columns: object) -> int:
    submission = store_submission(problem, source, "python")
    judgement = request_judgement(submission, stop_at_first_failure=False)
    tests = [{"name": str(n), "verdict": verdict, "sample": n == 0} for n, verdict in enumerate(verdicts)]
    judgement.result = {"tests": tests}
    judgement.state, judgement.verdict = Judgement.State.DONE, "TLE"
    for name, value in columns.items():
        setattr(judgement, name, value)
    judgement.save()
    return submission.pk


@pytest.mark.django_db
def test_start_programs_fail_by_time_only():
    problem = store_doubling()
    unknown = judged(problem, "a", ["AC", "TLE"])
    right = judged(problem, "b", ["AC", "TLE", "TLE"], relaxed_verdict="AC")
    judged(problem, "c", ["AC", "TLE", "WA"])
    judged(problem, "c", ["AC", "TLE"], stop_at_first_failure=True)
    judged(problem, "d", ["AC", "TLE"], problem_hash="1" * 64)
    repair = judged(problem, "e", ["AC", "TLE"])
    run = Run.objects.create(
        dataset=problem.dataset, method="slow-neutral", model_spec="", parameters={}, manifest={}
    )
    Generation.objects.create(
        work_item=WorkItem.objects.create(run=run, problem=problem, chain=0), step=1, purpose="repair", messages=[],
        parameters={}, latency=0.0, hidden_judgement=Judgement.objects.get(submission=repair),
    )  # fmt: skip
    found = find_starts([problem], "python")
    assert [(one.submission, one.right) for one in found["doubling"]] == [(right, True), (unknown, False)]
    assert find_starts([problem], "cpp") == {}


@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox")
def test_a_repeated_run_begins_with_the_same_start_programs():
    problem = store_doubling()
    starts = [judged(problem, source, ["AC", "TLE"]) for source in ("a", "b", "c")]
    spec, method = parse_model_spec("practice:student"), METHODS["slow-told"]
    plan = plan_run(problem.dataset, spec, method, SlowSettings(starts=2), RunScope())
    run = start_run(plan, RunOptions())
    judged(problem, "d", ["AC", "TLE"], relaxed_verdict="AC")  # a new run would begin with this one
    repeated = plan_like(run)
    assert [one["submission"] for one in repeated.prepared[STARTS]["doubling"]] == starts[:2]
    assert (repeated.chains, repeated.attempts) == ({"doubling": 2}, 2)


@pytest.mark.django_db
def test_a_run_without_start_programs_is_refused():
    store_doubling()
    with pytest.raises(CommandError, match="only exceeds the time limit"):
        call_command(
            "run_baseline", "--dataset", "practice", "--model", "practice:student", "--method", "slow-told"
        )
