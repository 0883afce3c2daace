"""Reflexion: the model corrects its program with the results of the samples (docs/spec.md 1.2, A2; 7.3; 15).

The ICPC paper's self-judge is the same loop with `feedback=verdicts`, `reflection=own-reply` and two reflections
(docs/spec.md 2).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Strategy
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import solve_once
from benchmark.models import Generation
from benchmark.prompts import (
    REFLECTED_TEMPLATES,
    REVISION_TEMPLATES,
    Feedback,
    PreviousAttempt,
    PromptContext,
    PromptFormat,
    VisibleProblem,
    reflection_prompt,
    revision_prompt,
)

Selection = Literal["first-passing", "last"]


@dataclass(frozen=True)
class ReflexionSettings(MethodSettings):
    """Settings for the number of reflections, the feedback, and the selection of the answer that counts."""

    i: int = option(3, "reflections; the USACO paper has 3, its code 2", ge=0, le=20)
    feedback: Feedback = option(
        "samples",
        "feedback on each sample: inputs and outputs; the kind of error (ICPC paper); inputs and outputs, and the "
        "number of hidden tests passed; the uncut feedback of the USACO code; or none",
    )
    reflection: Literal["with-revision", "own-reply"] = option(
        "with-revision",
        "place of the reflection: in the reply with the corrected program (USACO), or in a reply before it (ICPC)",
    )
    buffer: Literal["all", "last"] = option(
        "all", "previous attempts in the prompt: all as in the USACO code, or the last as in the paper"
    )
    run_all: bool = option(False, "reflect i times even after an answer that passes, as the USACO code")
    selection: Selection = option(
        "first-passing",
        "the answer that counts: the first that passes the tests of the feedback, else the last; or always the last",
    )

    @property
    def shows_whole_output(self) -> bool:
        """Whether prompts quote the complete output of a program on a sample."""
        return self.feedback == "usaco-code"


async def reflect(chain: Chain, settings: ReflexionSettings, retrieved: Retrieved) -> Generation:
    """Return the selected one of up to i+1 answers, each with feedback on the previous ones.

    Every prompt shows the retrieved texts. An early stop does not change the first answer that passes, only the cost.
    """
    answers = [await solve_once(chain, settings, retrieved)]
    attempts = [await _attempt(chain, settings, answers)]
    purposes = Generation.Purpose

    def shown() -> tuple[VisibleProblem, PromptFormat, PromptContext, Sequence[PreviousAttempt], Feedback]:
        seen = attempts if settings.buffer == "all" else attempts[-1:]
        return chain.task, settings.form, retrieved.context, seen, settings.feedback

    while len(attempts) <= settings.i and (settings.run_all or not attempts[-1].passed):
        if settings.reflection == "own-reply":
            thought = await chain.request(
                reflection_prompt(*shown()), purposes.CRITIQUE, retrieval=retrieved.record
            )
            attempts[-1] = replace(attempts[-1], reflection=thought.text)
        answers.append(
            await chain.request(revision_prompt(*shown()), purposes.REFLECT, retrieval=retrieved.record)
        )
        attempts.append(await _attempt(chain, settings, answers))
    return answers[select_answer([attempt.passed for attempt in attempts], settings.selection)]


async def _attempt(
    chain: Chain, settings: ReflexionSettings, answers: Sequence[Generation]
) -> PreviousAttempt:
    """Return the last of the answers with the results that its feedback consists of."""
    samples = await chain.run_samples(answers[-1])
    counted = settings.feedback == "samples+hidden_count"
    hidden = await chain.count_hidden(answers[-1]) if counted else None
    return PreviousAttempt(len(answers), answers[-1].text, samples, hidden)


def select_answer(passed: Sequence[bool], selection: Selection) -> int:
    """Return the index of the answer that counts; `passed` says which answers passed the samples (docs/spec.md 7.3)."""
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
    in_usaco_paper=True,
)
