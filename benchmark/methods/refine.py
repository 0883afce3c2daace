"""Refine@K: successive attempts with feedback, until one is accepted (ICPC-Eval; docs/spec.md 5.2 and 15)."""

from typing import Literal

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Strategy, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.models import Generation
from benchmark.prompts import REFINE_TEMPLATES, HiddenRun, RefineTurn, SampleRun, refine_prompt
from judge import Verdict


@dataclass(frozen=True)
class RefineSettings(MethodSettings):
    """Settings for the number of attempts and the history that prompts show."""

    k: int = option(5, "successive attempts, each with feedback on the previous one", ge=1, le=50)
    g: int = option(1, "restarts from scratch, with k attempts each", ge=1, le=50)
    history: Literal["last", "full"] = option(
        "last",
        "earlier attempts in the prompt: the last, as in the paper, or the full conversation, as in its code",
    )
    repair_temperature: float | None = option(
        None, "temperature after the first attempt; none: the same", ge=0, le=2
    )


async def refine(chain: Chain, settings: RefineSettings, _retrieved: Retrieved) -> Generation:
    """Return the first attempt of up to g times k that passes the samples and then all tests, else the last one.

    The feedback on a failed attempt is the compiler output, the first failing sample, or, where all samples passed, the
    verdict on the hidden tests. A reply without a program is an attempt; a fault of the provider or the judge is not.
    """
    for _ in range(settings.g):
        turns: list[RefineTurn] = []
        for _ in range(settings.k):
            shown = turns if settings.history == "full" else turns[-1:]
            temperature = settings.repair_temperature if turns else None
            prompt = refine_prompt(chain.task, settings.form, shown, temperature)
            purpose = Generation.Purpose.REPAIR if turns else Generation.Purpose.SOLVE
            answer = await chain.request(prompt, purpose)
            result = await _judge(chain, answer)
            if result.verdict is Verdict.AC:
                return answer
            turns.append(RefineTurn(answer.text, result, tuple(answer.blocks or ())))
    return answer


async def _judge(chain: Chain, answer: Generation) -> SampleRun | HiddenRun:
    """Return the result on the samples if one fails, else the verdict on all tests."""
    samples = await chain.run_samples(answer)
    return await chain.run_hidden(answer) if samples.passed else samples


REFINE = Strategy(
    name="refine",
    summary="Ask, judge, and ask for a correction with the verdict, until an attempt is accepted.",
    source="ICPC-Eval, Refine@K",
    settings=RefineSettings,
    templates=fixed_templates(*REFINE_TEMPLATES),
    solve=refine,
    scoring="refine",
)
