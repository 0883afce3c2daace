"""The policy `tutor`: a model writes each message, and the guard decides whether it is sent.

A turn without a draft that may be sent sends the neutral sentence. The decisions follow from the view, the record and
the replies.
"""

from __future__ import annotations

from functools import partial

from benchmark.methods import Chain
from benchmark.models import Generation, Problem
from benchmark.prompts import Prompt
from tutoring.arms.control_policies import TRY_AGAIN
from tutoring.arms.policy import Act, AskCode, Decide, Execute, Policy, Talk, TutorView
from tutoring.arms.tutor.guard import context_of
from tutoring.arms.tutor.prompt import MOST_TALKS, texts
from tutoring.arms.tutor.turn import Conduct, Turn
from tutoring.checks.contexts import problem_context
from tutoring.protocols import Rules
from tutoring.rules import MessageContext
from tutoring.rules.detectors import detectors

CONDUCT = "tutor"
"""The key of the tutor's conduct in the record of a run: model, cap, guard, dataset, and the digest of the prompts."""


async def _begin(chain: Chain) -> Decide:
    """Return the deciding function of one session."""
    from tutoring.arms.transcript import rules_of_record

    rules, recorded = rules_of_record(chain.prepared), chain.prepared[CONDUCT]
    conduct = Conduct(**{name: recorded[name] for name in ("model", "cap", "guard", "template_hash")})
    read = partial(_problem_context, recorded["dataset"], chain.task.id, rules)
    problem: MessageContext = await chain.read_once(f"context of {chain.task.id}", read)
    talks = 0

    async def request(prompt: Prompt) -> str:
        return (await chain.request(prompt, Generation.Purpose.TUTOR, role="tutor")).text

    async def decide(view: TutorView) -> Act:
        nonlocal talks
        if not view.messages_sent:
            return AskCode()
        answer, turn = await Turn(request, conduct, rules, view, context_of(problem, view)).decide()
        if answer is None:
            return AskCode(TRY_AGAIN, turn=turn)
        if answer.act == "execute":
            return Execute(turn=turn)
        if answer.act == "talk" and talks < MOST_TALKS:
            talks += 1
            return Talk(answer.message, turn=turn)
        talks = 0
        return AskCode(answer.message, turn=turn)

    return decide


def _problem_context(dataset: str, problem: str, rules: Rules) -> MessageContext:
    row = Problem.objects.get(dataset__name=dataset, external_id=problem)
    return problem_context(row, rules.tutor_may_say)


def _texts() -> tuple[str, ...]:
    versions = [f"{name} {detector.version}" for name, detector in detectors().items()]
    return (TRY_AGAIN, *texts(), *versions)


TUTOR = Policy("tutor", frozenset(), _begin, _texts)
