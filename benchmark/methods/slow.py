"""Repairs of slow programs: arms that differ in what the model learns of its program's running time.

A chain begins with a stored program whose only failures are exceeded time limits, at no cost, and makes up to `r`
repairs. Each prompt shows the last program only (docs/slow-programs.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from benchmark.growth.sizes import has_sizes
from benchmark.growth.starts import ARM_PREFIX, Start, find_starts, sources_of
from benchmark.growth.wording import feedback_text
from benchmark.methods.composition import fixed_templates
from benchmark.methods.method import Chain, Example, Method, PlannedRun, Preparation
from benchmark.methods.settings import MethodSettings, SettingsError, option
from benchmark.models import Generation
from benchmark.prompts import SLOW_TEMPLATES, SOLVE_TEMPLATES, HiddenRun, PromptFormat, SampleRun
from benchmark.prompts.slow import (
    LastProgram,
    difference_feedback,
    failure_feedback,
    growth_feedback,
    neutral_feedback,
    opening_prompt,
    program_reply,
    replan_feedback,
    slow_prompt,
    told_feedback,
)
from judge import Verdict

Arm = Literal["neutral", "told", "growth", "growth+oracle", "replan"]

STARTS = "slow_programs"
"""The key of the start programs in the record of a run: for each problem a list with one entry per chain."""


@dataclass(frozen=True)
class SlowSettings(MethodSettings):
    """Settings for the number of repairs and of start programs."""

    r: int = option(3, "repairs of a slow program", ge=1, le=20)
    starts: int = option(5, "start programs of a problem, at most", ge=1, le=1000)


async def repair(arm: Arm, chain: Chain, settings: SlowSettings) -> Generation:
    """Return the first of up to r repairs that passes the samples and then all tests, else the last one."""
    start = chain.prepared[STARTS][chain.task.id][chain.number]
    programs = await chain.read_once("slow programs", lambda: sources_of(_submissions(chain.prepared)))
    slow = programs[start["submission"]]
    feedback = _Feedback(arm, chain, settings.form, slow)
    answer = await chain.adopt(
        opening_prompt(chain.task, settings.form), program_reply(slow, settings.language), start
    )
    program = slow  # the stored program, which has judgements; the recorded reply may differ in blank lines
    result: SampleRun | HiddenRun = HiddenRun(Verdict.TLE)
    for _ in range(settings.r):
        last = LastProgram(answer.text, tuple(answer.blocks or ()))
        prompt = slow_prompt(chain.task, settings.form, last, await feedback.on(program, result))
        answer = await chain.request(prompt, Generation.Purpose.REPAIR)
        program, result = answer.code, await _judge(chain, answer)
        if result.verdict is Verdict.AC:
            break
    return answer


async def _judge(chain: Chain, answer: Generation) -> SampleRun | HiddenRun:
    """Return the result on the samples if one fails, else the verdict on all tests."""
    samples = await chain.run_samples(answer)
    return await chain.run_hidden(answer) if samples.passed else samples


class _Feedback:
    """The feedback of an arm in a chain that begins with a slow program."""

    def __init__(self, arm: Arm, chain: Chain, form: PromptFormat, slow: str) -> None:
        self.arm, self.chain, self.form, self.slow = arm, chain, form, slow

    async def on(self, program: str, result: SampleRun | HiddenRun) -> str:
        """Return the feedback on the last program, which was not accepted."""
        form, task = self.form, self.chain.task
        if self.arm == "neutral":
            return neutral_feedback(form)
        if self.arm == "growth+oracle" and program and program != self.slow:
            difference = await self.chain.program_tester.difference(self.slow, program)
            if difference is not None:
                return difference_feedback(difference.input, difference.candidate, difference.slow, form)
        if result.verdict is not Verdict.TLE or not isinstance(result, HiddenRun):
            return failure_feedback(result, form)
        if self.arm == "told":
            return told_feedback(task, form)
        if self.arm == "replan":
            return replan_feedback(task, form)
        growth = await self.chain.program_tester.growth(program)
        return growth_feedback(feedback_text(growth) if growth else "", form)


def _submissions(prepared: Mapping[str, Any]) -> list[int]:
    return [start["submission"] for starts in prepared[STARTS].values() for start in starts]


def prepare_starts(arm: Arm, planned: PlannedRun) -> Preparation:
    """Fix the start programs of each problem. Raises SettingsError if there are none."""
    settings: SlowSettings = planned.settings
    if planned.states_chains:
        raise SettingsError(
            "The start programs determine the number of chains. Leave --attempts and --epochs out, or set starts."
        )
    if settings.policy != "fair" or settings.tests != "imported":
        raise SettingsError(
            "Start programs are judged with policy=fair on tests=imported. Leave these settings out."
        )
    if planned.former:
        former = {one.external_id: planned.former[STARTS][one.external_id] for one in planned.problems}
        return _prepared(settings, {}, former)
    found = find_starts(planned.problems, settings.language)
    left_out = {
        problem.external_id: f"it has no stored program in {settings.language} that only exceeds the time limit"
        for problem in planned.problems
        if problem.external_id not in found
    }
    if arm in ("growth", "growth+oracle"):
        for problem in planned.problems:
            if problem.external_id in found and not has_sizes(problem):
                del found[problem.external_id]
                left_out[problem.external_id] = (
                    "it has no generator with a size argument (build_suite --model PROVIDER:MODEL --sizes)"
                )
    starts = {name: [_record(one) for one in of[: settings.starts]] for name, of in found.items()}
    if not starts:
        reasons = "; ".join(sorted(set(left_out.values())))
        raise SettingsError(f"There is no start program in {planned.dataset.name}: {reasons}.")
    return _prepared(settings, left_out, starts)


def _prepared(
    settings: SlowSettings, left_out: Mapping[str, str], starts: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Preparation:
    """Return the preparation with one chain for each start program."""
    chains = {name: len(of) for name, of in starts.items()}
    return Preparation(replace(settings), left_out, {STARTS: starts}, chains)


def _record(start: Start) -> dict[str, Any]:
    return {"submission": start.submission, "right": start.right}


def _example() -> Example:
    start = {"submission": 0, "right": True}
    return Example({STARTS: {"0": [start]}}, {"slow programs": {0: "print(0)"}})


_SUMMARIES: Mapping[Arm, str] = {
    "neutral": "Repair slow programs after a sentence that says nothing about them.",
    "told": "Repair slow programs after the sentence that they may be too slow, with the limits.",
    "growth": "Repair slow programs after the measured growth of their running time.",
    "growth+oracle": "Repair slow programs after their measured growth, and after differences from the slow program.",
    "replan": "Repair slow programs after the request to state first what the bounds allow.",
}


def _method(arm: Arm) -> Method:
    warning = "The chains begin with slow programs: the score is the share that is converted."
    if arm == "neutral":
        warning = f"A control: the model only sees that it should try again. {warning}"
    return Method(
        name=ARM_PREFIX + arm,
        summary=_SUMMARIES[arm],
        source="arms of slow programs (docs/slow-programs.md)",
        warning=warning,
        settings_classes=(SlowSettings,),
        templates=fixed_templates(*SOLVE_TEMPLATES, *SLOW_TEMPLATES),
        needs_analysis=False,
        needs_verifier=False,
        needs_outputs=arm == "growth+oracle",
        in_usaco_paper=False,
        scoring="pass",
        solve=partial(repair, arm),
        prepare=partial(prepare_starts, arm),
        example=_example,
    )


SLOW_METHODS = tuple(_method(arm) for arm in _SUMMARIES)
"""The arms, in the order of comparison."""
