"""Reflexion: the model corrects its program with the results of the samples (METHODS.md 1.2, A2; 7.3; 15).

The ICPC paper's self-judge is the same loop with `feedback=verdicts` and two reflections (METHODS.md 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmark.methods.composition import Answer
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found
from benchmark.methods.settings import Sampling, takes
from benchmark.methods.zero_shot import ask_once
from benchmark.models import Generation
from benchmark.prompts import FEEDBACKS, REVISION_TEMPLATES, Attempt, Feedback, revision_prompt

Buffer = Literal["all", "last"]
Selection = Literal["first-passing", "last"]


@dataclass(frozen=True)
class Reflexion(Sampling):
    """How often the model may reflect, what it is told, and which of its answers counts."""

    i: int = field(
        default=3, metadata=takes("reflections; the USACO paper has 3, its code 2", minimum=0, maximum=20)
    )
    feedback: Feedback = field(
        default="samples",
        metadata=takes(
            "told of each sample: inputs and outputs, the kind of error (ICPC paper), or nothing at all",
            choices=FEEDBACKS,
        ),
    )
    buffer: Buffer = field(
        default="all",
        metadata=takes(
            "attempts shown again: all as in the USACO code, or the last as in the paper",
            choices=get_args(Buffer),
        ),
    )
    run_all: bool = field(
        default=False,
        metadata=takes("reflect i times even after an answer that passes the samples, as the USACO code"),
    )
    selection: Selection = field(
        default="first-passing",
        metadata=takes(
            "the answer that counts: the first to pass the samples, else the last; or always the last",
            choices=get_args(Selection),
        ),
    )


async def reflect(chain: Chain, settings: Reflexion, found: Found) -> Generation:
    """Up to i+1 answers, each after the results of those before; the selected one is the attempt.

    What was found is shown in every prompt. Stopping early does not change the answer selected as the first
    to pass, only what is paid for.
    """
    answers = [await ask_once(chain, settings, found)]
    attempts = [Attempt(1, answers[0].text, await chain.run_samples(answers[0]))]
    while len(attempts) <= settings.i and (settings.run_all or not attempts[-1].samples.passed):
        shown = attempts if settings.buffer == "all" else attempts[-1:]
        prompt = revision_prompt(chain.task, settings.form, found.material, shown, settings.feedback)
        revised = await chain.ask(prompt, Generation.Purpose.REFLECT, retrieval=found.record)
        answers.append(revised)
        attempts.append(Attempt(len(answers), revised.text, await chain.run_samples(revised)))
    return answers[select([attempt.samples.passed for attempt in attempts], settings.selection)]


def select(passed: Sequence[bool], selection: Selection) -> int:
    """The place of the answer that counts, given which answers passed the samples (METHODS.md 7.3)."""
    if selection == "first-passing" and True in passed:
        return passed.index(True)
    return len(passed) - 1


REFLEXION = Answer(
    name="reflexion",
    summary="Ask, run the samples, and ask for a correction with their results.",
    source="USACO paper, A2; with feedback=verdicts the ICPC paper's self-judge",
    settings=Reflexion,
    templates=REVISION_TEMPLATES,
    solve=reflect,
)
