"""What a run would cost: its method is played through with replies of an assumed length, and nobody is called."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from asgiref.sync import sync_to_async
from django.db.models import Count, Sum

from benchmark.methods import AssumedBench, Sampling
from benchmark.models import Generation, Problem, Run
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleResult, SampleRun, Task
from benchmark.retrieval import Corpus
from benchmark.runner.budget import Price
from benchmark.runner.pilot import PILOT_SEED
from benchmark.runner.plan import Plan
from benchmark.runner.texts import Texts
from judge import Verdict

_DRAWS = 2_000

PLAYED = 40
"""Problems played through at most, spread evenly over those of the run; the figures are scaled up."""


@dataclass(frozen=True)
class Assumption:
    """How long a reply is, how many characters a token has, and whether first answers pass the samples."""

    name: str
    reply_tokens: int
    characters_per_token: float
    passes: bool


ASSUMPTIONS = (
    Assumption("low", 500, 4.5, passes=True),
    Assumption("expected", 1_500, 4.0, passes=False),
    Assumption("high", 8_000, 3.0, passes=False),
)
"""Replies are no longer than `max_output_tokens` allows, and in "high" as long where it is set."""

ASSUMED = (
    "Assumed: low, replies of 500 tokens, and programs that pass the samples at once; expected, replies of 1,500 "
    "tokens, and no program that passes; high, the same with the longest replies (max_output_tokens, or 8,000). "
    "A token is counted as 4.5, 4 and 3 characters of a prompt."
)


@dataclass(frozen=True)
class Estimate:
    """Calls and tokens of a whole run under one assumption."""

    generations: int
    input_tokens: int
    output_tokens: int

    def cost(self, price: Price) -> float:
        """US dollars."""
        return price.of(self.input_tokens, self.output_tokens)


async def estimate(plans: Sequence[Plan]) -> list[dict[str, Estimate]]:
    """For each plan an estimate for each of the ASSUMPTIONS, by name. The plans share their texts where they can."""
    texts: dict[tuple[int, str, str], Texts] = {}
    estimates = []
    for plan in plans:
        key = plan.dataset.pk, plan.settings.language, str(plan.spec)
        estimates.append(await _estimate(plan, texts.setdefault(key, Texts(plan.dataset, *key[1:]))))
    return estimates


async def _estimate(plan: Plan, texts: Texts) -> dict[str, Estimate]:
    step = math.ceil(len(plan.problems) / PLAYED)
    played = await sync_to_async(_load)(plan.problems[::step])
    scale = plan.attempts * len(plan.problems) / len(played)
    estimates = {}
    for assumption in ASSUMPTIONS:
        chains = [_AssumedChain(problem, plan.settings, texts, assumption) for problem in played]
        for chain in chains:
            await plan.method.solve(chain, plan.settings)
        estimates[assumption.name] = Estimate(
            round(scale * sum(chain.generations for chain in chains)),
            round(scale * sum(chain.input_tokens for chain in chains)),
            round(scale * sum(chain.output_tokens for chain in chains)),
        )
    return estimates


def rescaled(run: Run) -> dict[str, Estimate]:
    """The estimate for all problems from the replies to those of the pilot, cached ones included.

    "expected" scales the mean; "low" and "high" are the 95 % interval of a bootstrap over problems. Raises
    ValueError when the provider did not say the tokens of every reply.
    """
    pilot = run.manifest["pilot"]
    rows = (
        Generation.objects.filter(work_item__run=run)
        .order_by()
        .values_list("work_item__problem")
        .annotate(Count("pk"), Sum("input_tokens"), Sum("output_tokens"))
    )
    if Generation.objects.filter(work_item__run=run, output_tokens=None).exists() or not rows:
        raise ValueError("the provider did not say how many tokens its replies took")
    values = np.array([row[1:] for row in rows], float)
    draws = np.random.default_rng(PILOT_SEED).integers(0, len(values), (_DRAWS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975], axis=0)
    return {
        name: Estimate(*(round(pilot["of_problems"] * float(number)) for number in means))
        for name, means in (("low", low), ("expected", values.mean(axis=0)), ("high", high))
    }


def _load(problems: tuple[Problem, ...]) -> list[Problem]:
    return list(Problem.objects.filter(pk__in=[problem.pk for problem in problems]))


class _AssumedChain:
    """`benchmark.methods.Chain` with replies made up of one letter, which change nothing in a search."""

    def __init__(self, problem: Problem, settings: Sampling, texts: Texts, assumption: Assumption) -> None:
        self.task = Task.of(problem)
        self.bench = AssumedBench(passes=assumption.passes)
        self.generations = self.input_tokens = self.output_tokens = 0
        self._texts = texts
        self._assumption = assumption
        longest = settings.max_output_tokens
        self._reply_tokens = min(assumption.reply_tokens, longest or assumption.reply_tokens)
        if longest and assumption.name == "high":
            self._reply_tokens = longest

    async def ask(
        self, prompt: Prompt, purpose: Generation.Purpose, *, retrieval: Mapping[str, Any] | None = None
    ) -> Generation:
        """A made-up reply, counted."""
        characters = sum(len(message.content) for message in prompt.messages)
        self.generations += 1
        self.input_tokens += math.ceil(characters / self._assumption.characters_per_token)
        self.output_tokens += self._reply_tokens
        text = "x" * round(self._reply_tokens * self._assumption.characters_per_token)
        return Generation(purpose=purpose, text=text, code=text)

    async def run_samples(self, answer: Generation) -> SampleRun:
        """Passed or failed, as assumed."""
        if self._assumption.passes:
            return SampleRun(Verdict.AC)
        line = "x" * 100
        return SampleRun(Verdict.WA, (SampleResult(Verdict.WA, line, line, line, ""),))

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """Accepted: who passes the samples is assumed to be right."""
        return HiddenRun(Verdict.AC)

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """As the samples are assumed to go."""
        return HiddenCount(int(self._assumption.passes), 1)

    async def problems(self) -> Corpus:
        """The real ones: the texts shown are most of the tokens."""
        return await self._texts.problems()

    async def textbook(self, name: str) -> Corpus:
        """The real one."""
        return await self._texts.textbook(name)

    async def represented(self, kind: str) -> Corpus:
        """The real ones: they are written before a run begins."""
        return await self._texts.represented(kind)
