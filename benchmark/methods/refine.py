"""Refine@K: attempt after attempt with feedback, until one is accepted (ICPC-Eval; docs/spec.md 5.2 and 15)."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmark.methods.composition import Strategy, always
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.models import Generation
from benchmark.prompts import REFINE_TEMPLATES, HiddenRun, RefineTurn, SampleRun, refine_prompt
from judge import Verdict

History = Literal["last", "full"]


@dataclass(frozen=True)
class RefineSettings(MethodSettings):
    """How often the model may try, and what it sees of its earlier attempts."""

    k: int = field(
        default=5, metadata=option("attempts in a row, each after the one before", minimum=1, maximum=50)
    )
    g: int = field(
        default=1, metadata=option("times to start from scratch, with k attempts each", minimum=1, maximum=50)
    )
    history: History = field(
        default="last",
        metadata=option(
            "earlier attempts shown again: the last, as the paper says, or the full conversation, as its code",
            choices=get_args(History),
        ),
    )
    repair_temperature: float | None = field(
        default=None,
        metadata=option("temperature after the first attempt; none: the same", minimum=0, maximum=2),
    )


async def refine(chain: Chain, settings: RefineSettings, found: Retrieved) -> Generation:
    """Up to g times k attempts, until one passes the samples and then all tests; else the last one counts.

    An attempt that fails is answered with what the compiler said, with the first failing sample, or, when all
    samples passed, with the name of the verdict on the hidden tests. A reply without a program is an attempt too; a
    fault of the provider or the judge is none.
    """
    for _ in range(settings.g):
        turns: list[RefineTurn] = []
        for _ in range(settings.k):
            shown = turns if settings.history == "full" else turns[-1:]
            temperature = settings.repair_temperature if turns else None
            prompt = refine_prompt(chain.task, settings.form, shown, temperature)
            purpose = Generation.Purpose.REPAIR if turns else Generation.Purpose.SOLVE
            answer = await chain.ask(prompt, purpose)
            result = await _judged(chain, answer)
            if result.verdict is Verdict.AC:
                return answer
            turns.append(RefineTurn(answer.text, result))
    return answer


async def _judged(chain: Chain, answer: Generation) -> SampleRun | HiddenRun:
    """Where the attempt ends: on the samples, or with its verdict on all tests."""
    samples = await chain.run_samples(answer)
    return await chain.run_hidden(answer) if samples.passed else samples


REFINE = Strategy(
    name="refine",
    summary="Ask, judge, and ask for a correction with the verdict, until an attempt is accepted.",
    source="ICPC-Eval, Refine@K",
    settings=RefineSettings,
    templates=always(REFINE_TEMPLATES),
    solve=refine,
    scoring="refine",
)
