"""Cost estimates for generating representations and answering questions, without any call."""

import math
from collections.abc import Sequence

from benchmark.datasets.question_sets import OPTIONS
from benchmark.models import SimilarityRun
from benchmark.prompts import Prompt
from benchmark.providers import Parameters
from benchmark.runner import Estimate
from benchmark.runner.estimate import ASSUMPTIONS, Assumption
from benchmark.similarity.choice import choice_prompt
from benchmark.similarity.runs import Work


def estimate_prompts(prompts: Sequence[Prompt], sampling: Parameters) -> dict[str, Estimate]:
    """Return calls and tokens of these prompts by assumption."""
    return {one.name: _estimate(one, prompts, sampling) for one in ASSUMPTIONS}


def estimate_run(work: Work) -> dict[str, Estimate]:
    """Return calls and tokens of the remaining representations and answers by assumption.

    The assumed length of a missing text is that of its whole reply.
    """
    plan = work.plan
    estimates = {}
    for assumed in ASSUMPTIONS:
        prompts = work.prompts()
        if plan.task == SimilarityRun.Task.CHOOSE:
            length = round(_reply_tokens(assumed, plan.sampling) * assumed.characters_per_token)
            placeholder = "x" * length
            for question in work.questions:
                shown = [option.problem.external_id for option in question.options.all()]
                texts = [
                    work.texts.get(name, placeholder) for name in (question.reference.external_id, *shown)
                ]
                prompts.append(choice_prompt(plan.kind, texts[0], texts[1 : OPTIONS + 1]))
        estimates[assumed.name] = _estimate(assumed, prompts, plan.sampling)
    return estimates


def _estimate(assumed: Assumption, prompts: Sequence[Prompt], sampling: Parameters) -> Estimate:
    characters = sum(len(message.content) for prompt in prompts for message in prompt.messages)
    return Estimate(
        len(prompts),
        math.ceil(characters / assumed.characters_per_token),
        len(prompts) * _reply_tokens(assumed, sampling),
    )


def _reply_tokens(assumed: Assumption, sampling: Parameters) -> int:
    return min(assumed.reply_tokens, sampling.max_output_tokens or assumed.reply_tokens)
