"""Cost estimates of runs: dry runs of the method with replies of an assumed length, without any call."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from asgiref.sync import sync_to_async
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce

from benchmark.methods import DryChain, Role, dry_run
from benchmark.metrics import t_quantile
from benchmark.model_calls.budget import Price
from benchmark.models import Generation, Problem, Run, RunTutor
from benchmark.prompts import VisibleProblem
from benchmark.runner import leases
from benchmark.runner.plan import RunPlan
from benchmark.runner.texts import SearchTexts

SAMPLED_PROBLEMS = 40
"""The maximum number of problems in a dry run, spread evenly over those of the run; the figures are scaled up."""


@dataclass(frozen=True)
class Assumption:
    """Assumed tokens of a reply, characters of a token, and whether first answers pass the samples."""

    name: str
    reply_tokens: int
    characters_per_token: float
    passes: bool
    tutor_tokens: int
    """Assumed tokens of a message of the tutor's model."""

    def reply_within(self, longest: int | None) -> int:
        """Return the assumed tokens of a reply that has at most `longest` tokens; None: no bound."""
        if longest is None:
            return self.reply_tokens
        return longest if self.name == "high" else min(self.reply_tokens, longest)


ASSUMPTIONS = (
    Assumption("low", 500, 4.5, passes=True, tutor_tokens=100),
    Assumption("expected", 1_500, 4.0, passes=False, tutor_tokens=200),
    Assumption("high", 8_000, 3.0, passes=False, tutor_tokens=4_000),
)
"""`max_output_tokens` bounds the replies; under "high" every reply reaches this bound if it is set."""

RUN_ASSUMPTIONS = (
    "Assumed: low, replies of 500 tokens, and programs that pass the samples at once; expected, replies of 1,500 "
    "tokens, and no program that passes; high, the same with the longest replies (max_output_tokens, or 8,000). "
    "A token is counted as 4.5, 4 and 3 characters of a prompt."
)

TUTOR_ASSUMPTIONS = "Assumed of the tutor's model: one message a turn, of 100, 200 and 4,000 tokens."


@dataclass(frozen=True)
class Estimate:
    """Calls and tokens of a whole run under one assumption; cached input tokens are only known after a pilot."""

    generations: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    tutor: "Estimate | None" = None
    """The calls of the model in the role of the tutor, which the other fields leave out; None: no such role."""

    def cost(self, price: Price) -> float:
        """Return the cost in US dollars."""
        return price.of(self.input_tokens, self.output_tokens, self.cached_input_tokens)


async def estimate(plans: Sequence[RunPlan]) -> list[dict[str, Estimate]]:
    """Return for each plan the estimates under each of the ASSUMPTIONS, by name."""
    texts: dict[tuple[int, str, str], SearchTexts] = {}
    estimates = []
    for plan in plans:
        key = plan.dataset.pk, plan.settings.language, str(plan.spec)
        estimates.append(await _estimate(plan, texts.setdefault(key, SearchTexts(plan.dataset, *key[1:]))))
    return estimates


async def _estimate(plan: RunPlan, texts: SearchTexts) -> dict[str, Estimate]:
    step = math.ceil(len(plan.problems) / SAMPLED_PROBLEMS)
    sampled = await sync_to_async(_load)(plan.problems[::step])
    scale = len(plan.problems) / len(sampled)
    estimates = {}
    for assumption in ASSUMPTIONS:
        reply = assumption.reply_within(plan.settings.max_output_tokens)
        letters = round(reply * assumption.characters_per_token)
        prompts: dict[Role, list[int]] = {"student": [], "tutor": []}
        for problem in sampled:
            chain = DryChain(
                VisibleProblem.of(problem),
                texts,
                passes=assumption.passes,
                prepared=plan.prepared,
                language=plan.settings.language,
                reply_characters=letters,
                tutor_reply=plan.method.tutor_reply,
            )
            for request in await dry_run(plan.method, plan.settings, chain):
                prompts[request.role] += [request.characters] * (1 if request.shared else plan.attempts)
        found = {
            role: Estimate(
                round(scale * len(sent)),
                round(scale * sum(math.ceil(length / assumption.characters_per_token) for length in sent)),
                round(scale * len(sent) * (reply if role == "student" else assumption.tutor_tokens)),
            )
            for role, sent in prompts.items()
        }
        tutor = found["tutor"] if plan.tutor else None
        estimates[assumption.name] = replace(found["student"], tutor=tutor)
    return estimates


def estimate_from_pilot(run: Run) -> dict[str, Estimate]:
    """Return the estimate for all problems from the replies to those of the pilot, cached ones included.

    "expected" scales the mean; "low" and "high" are the 95 % t interval over the problems of the pilot, without width
    for a single problem. Raises ValueError before every item is settled, and when the provider did not report the
    tokens of every reply.
    """
    if not leases.is_settled(run):
        raise ValueError("the pilot is not finished")
    student = _from_pilot(run, Generation.objects.exclude(purpose=Generation.Purpose.TUTOR))
    if not RunTutor.objects.filter(run=run).exists():
        return student
    tutor = _from_pilot(run, Generation.objects.filter(purpose=Generation.Purpose.TUTOR))
    return {name: replace(student[name], tutor=tutor[name]) for name in student}


def _from_pilot(run: Run, of_role: QuerySet[Generation]) -> dict[str, Estimate]:
    """Return the estimate for one role; see `estimate_from_pilot`."""
    pilot = run.manifest["pilot"]
    rows = (
        of_role.filter(work_item__run=run)
        .order_by()
        .values_list("work_item__problem")
        .annotate(
            Count("pk"),
            Sum("input_tokens"),
            Sum("output_tokens"),
            cached=Coalesce(Sum("cached_input_tokens"), 0),
        )
    )
    if of_role.filter(work_item__run=run, output_tokens=None).exists() or not rows:
        raise ValueError("the provider did not report the tokens of its replies")
    values = np.array([row[1:] for row in rows], float)
    problems, mean = len(values), values.mean(axis=0)
    reach = np.zeros_like(mean)
    if problems > 1:
        reach = t_quantile(problems - 1) * values.std(axis=0, ddof=1) / math.sqrt(problems)
    bounds = {"low": np.maximum(mean - reach, 0), "expected": mean, "high": mean + reach}
    return {
        name: Estimate(*(round(pilot["of_problems"] * float(number)) for number in means))
        for name, means in bounds.items()
    }


def _load(problems: tuple[Problem, ...]) -> list[Problem]:
    return list(Problem.objects.filter(pk__in=[problem.pk for problem in problems]))
