"""Reflexion: the model corrects its program with the results of the samples (docs/spec.md 1.2, A2; 7.3; 15).

The ICPC paper's self-judge is the same loop with `feedback=verdicts`, `reflection=own-reply` and two reflections
(docs/spec.md 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from benchmark.methods.composition import Strategy
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import ask_once
from benchmark.models import Generation
from benchmark.prompts import (
    FEEDBACKS,
    REFLECTED_TEMPLATES,
    REVISION_TEMPLATES,
    Feedback,
    PreviousAttempt,
    PromptContext,
    PromptFormat,
    Task,
    reflection_prompt,
    revision_prompt,
)

Buffer = Literal["all", "last"]
Reflection = Literal["with-revision", "own-reply"]
Selection = Literal["first-passing", "last"]


@dataclass(frozen=True)
class ReflexionSettings(MethodSettings):
    """How often the model may reflect, what it is told, and which of its answers counts."""

    i: int = field(
        default=3, metadata=option("reflections; the USACO paper has 3, its code 2", minimum=0, maximum=20)
    )
    feedback: Feedback = field(
        default="samples",
        metadata=option(
            "told of each sample: inputs and outputs, the kind of error (ICPC paper), inputs and outputs and how many "
            "hidden tests are passed, what the USACO code tells (uncut), or nothing at all",
            choices=FEEDBACKS,
        ),
    )
    reflection: Reflection = field(
        default="with-revision",
        metadata=option(
            "where the model says what went wrong: beside the corrected program (USACO), or in a reply before (ICPC)",
            choices=get_args(Reflection),
        ),
    )
    buffer: Buffer = field(
        default="all",
        metadata=option(
            "attempts shown again: all as in the USACO code, or the last as in the paper",
            choices=get_args(Buffer),
        ),
    )
    run_all: bool = field(
        default=False,
        metadata=option("reflect i times even after an answer that passes, as the USACO code"),
    )
    selection: Selection = field(
        default="first-passing",
        metadata=option(
            "the answer that counts: the first to pass what is told, else the last; or always the last",
            choices=get_args(Selection),
        ),
    )

    @property
    def shows_whole_output(self) -> bool:
        """Return whether prompts quote all that a program printed for a sample."""
        return self.feedback == "usaco-code"


async def reflect(chain: Chain, settings: ReflexionSettings, found: Retrieved) -> Generation:
    """Up to i+1 answers, each after the results of those before; the selected one is the attempt.

    What was found is shown in every prompt. Stopping early does not change the answer selected as the first
    to pass, only what is paid for.
    """
    answers = [await ask_once(chain, settings, found)]
    attempts = [await _attempt(chain, settings, answers)]
    purposes = Generation.Purpose

    def shown() -> tuple[Task, PromptFormat, PromptContext, Sequence[PreviousAttempt], Feedback]:
        seen = attempts if settings.buffer == "all" else attempts[-1:]
        return chain.task, settings.form, found.material, seen, settings.feedback

    while len(attempts) <= settings.i and (settings.run_all or not attempts[-1].passed):
        if settings.reflection == "own-reply":
            thought = await chain.ask(reflection_prompt(*shown()), purposes.CRITIQUE, retrieval=found.record)
            attempts[-1] = replace(attempts[-1], reflection=thought.text)
        answers.append(await chain.ask(revision_prompt(*shown()), purposes.REFLECT, retrieval=found.record))
        attempts.append(await _attempt(chain, settings, answers))
    return answers[select_answer([attempt.passed for attempt in attempts], settings.selection)]


async def _attempt(
    chain: Chain, settings: ReflexionSettings, answers: Sequence[Generation]
) -> PreviousAttempt:
    """The last of the answers with what the model is told of it."""
    samples = await chain.run_samples(answers[-1])
    counted = settings.feedback == "samples+hidden_count"
    hidden = await chain.count_hidden(answers[-1]) if counted else None
    return PreviousAttempt(len(answers), answers[-1].text, samples, hidden)


def select_answer(passed: Sequence[bool], selection: Selection) -> int:
    """The place of the answer that counts, given which answers passed the samples (docs/spec.md 7.3)."""
    if selection == "first-passing" and True in passed:
        return passed.index(True)
    return len(passed) - 1


def _templates(settings: ReflexionSettings) -> tuple[str, ...]:
    return REFLECTED_TEMPLATES if settings.reflection == "own-reply" else REVISION_TEMPLATES


REFLEXION = Strategy(
    name="reflexion",
    summary="Ask, run the samples, and ask for a correction with their results.",
    source="USACO paper, A2; with feedback=verdicts and reflection=own-reply the ICPC paper's self-judge",
    settings=ReflexionSettings,
    templates=_templates,
    solve=reflect,
)
