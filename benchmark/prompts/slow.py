"""The conversation about a slow program: the problem, the last program, and feedback by arm (docs/slow-programs.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.prompts.assembly import Prompt, PromptFormat, VisibleProblem, problem_section
from benchmark.prompts.feedback import SHOWN, SampleRun
from benchmark.prompts.refinement import REFINE_TEMPLATES, HiddenRun, repair_message
from benchmark.providers import Message
from benchmark.text.excerpts import excerpt
from judge import get_language

SLOW_TEMPLATES = (
    "slow/neutral",
    "slow/told",
    "slow/growth",
    "slow/not_shown",
    "slow/difference",
    "slow/replan",
    *REFINE_TEMPLATES,
)


@dataclass(frozen=True)
class LastProgram:
    """The last reply of a chain, with the provider's blocks."""

    text: str
    blocks: tuple[Mapping[str, Any], ...] = ()


def opening_messages(task: VisibleProblem, form: PromptFormat) -> tuple[Message, ...]:
    """Return the first message, which is that of Refine (P-15)."""
    text = form.section("refine/instructions").text + "\n\n" + problem_section(task, form).text
    return (Message("user", text),)


def opening_prompt(task: VisibleProblem, form: PromptFormat) -> Prompt:
    """Return the prompt whose recorded reply is the slow program."""
    return Prompt(opening_messages(task, form), form.templates.hash("refine/instructions", "problem"))


def program_reply(source: str, language: str) -> str:
    """Return a reply that consists of the program."""
    return f"```{get_language(language).family.name}\n{source.strip()}\n```"


def slow_prompt(task: VisibleProblem, form: PromptFormat, last: LastProgram, feedback: str) -> Prompt:
    """Return the problem, the last program and the feedback on it."""
    text = last.text.strip() or form.templates.render("refine/empty_answer")
    messages: Sequence[Message] = (
        *opening_messages(task, form),
        Message("assistant", text, last.blocks),
        Message("user", feedback),
    )
    return Prompt(tuple(messages), form.templates.hash("refine/instructions", "problem", *SLOW_TEMPLATES))


def neutral_feedback(form: PromptFormat) -> str:
    """Return the sentence that says nothing about the program."""
    return form.section("slow/neutral").text


def told_feedback(task: VisibleProblem, form: PromptFormat) -> str:
    """Return the sentence that the program may be too slow, with the limits."""
    return form.section("slow/told", **_limits(task)).text


def replan_feedback(task: VisibleProblem, form: PromptFormat) -> str:
    """Return the request to state what the bounds allow, and then to write the program."""
    return form.section("slow/replan", **_limits(task)).text


def growth_feedback(growth: str, form: PromptFormat) -> str:
    """Return the measured growth in words, or without it the sentence that the program was not accepted."""
    if not growth:
        return form.section("slow/not_shown").text
    return form.section("slow/growth", growth=growth).text


def difference_feedback(given: str, output: str, expected: str, form: PromptFormat) -> str:
    """Return an input on which the slow program prints another output."""
    parts = {"input": given, "output": output, "expected": expected}
    return form.section(
        "slow/difference", **{name: excerpt(text, SHOWN) for name, text in parts.items()}
    ).text


def failure_feedback(failed: SampleRun | HiddenRun, form: PromptFormat) -> str:
    """Return the feedback of Refine (P-16): the first failing sample, or the name of the verdict."""
    return repair_message(failed, form)


def _limits(task: VisibleProblem) -> dict[str, str]:
    return {"time": f"{task.time_limit:g}", "memory": str(task.memory_limit // 2**20)}
