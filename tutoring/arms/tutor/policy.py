"""The policy `tutor`: a model writes each message, and the guard decides whether it is sent.

A turn has at most `1 + MOST_REWRITES` drafts that could be parsed. A second reply that is no JSON, or a last draft that
the guard refuses, sends the neutral sentence. The decisions follow from the view, the record and the replies.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmark.methods import Chain
from benchmark.models import Generation, Problem
from tutoring.arms.control_policies import TRY_AGAIN
from tutoring.arms.policy import Act, AskCode, Decide, Execute, Policy, Talk, TutorView
from tutoring.arms.tutor.answer import AnswerError, TutorAnswer, parse_answer
from tutoring.arms.tutor.guard import context_of, refusals
from tutoring.arms.tutor.prompt import (
    MOST_TALKS,
    first_prompt,
    next_prompt,
    refused_text,
    texts,
    unparsable_text,
)
from tutoring.checks.contexts import problem_context
from tutoring.models.payloads import TutorDraft, TutorTurn
from tutoring.protocols import Rules
from tutoring.rules import MessageContext
from tutoring.rules.detectors import DETECTORS

CONDUCT = "tutor"
"""The key of the tutor's conduct in the record of a run: model, cap, guard, dataset, and the digest of the prompts."""

MOST_REWRITES = 3
"""Drafts of a turn after the first one that was parsed."""

_MOST_UNPARSABLE = 2
"""Replies of a turn that are no JSON; after them the neutral sentence is sent."""


class _Turn:
    """One turn: drafts are requested until one may be sent, or the neutral sentence takes its place."""

    def __init__(self, chain: Chain, rules: Rules, view: TutorView, context: MessageContext) -> None:
        self._chain = chain
        self._view = view
        self._context = context
        conduct = chain.prepared[CONDUCT]
        caps = [cap for cap in (conduct["cap"], rules.level_cap) if cap is not None]
        self._cap = min(caps, default=None)
        self._guard: bool = conduct["guard"]
        self._model: str = conduct["model"]
        self._prompt = first_prompt(view, rules, self._cap, conduct["template_hash"])
        self._drafts: list[TutorDraft] = []

    async def decide(self) -> tuple[TutorAnswer | None, TutorTurn]:
        """Return the answer to carry out, None for the neutral sentence, with the record of all drafts."""
        unparsable = 0
        while True:
            reply = await self._chain.request(self._prompt, Generation.Purpose.TUTOR, role="tutor")
            try:
                answer = parse_answer(reply.text)
            except AnswerError as error:
                self._drafts.append(TutorDraft(text=reply.text, fault=str(error)))
                unparsable += 1
                if unparsable == _MOST_UNPARSABLE:
                    return None, self._record("unparsable")
                self._prompt = next_prompt(self._prompt, reply.text, unparsable_text(str(error)))
                continue
            found = refusals(answer, self._view, self._context, self._cap) if self._guard else []
            if not self._guard and answer.act == "execute" and not self._view.programs:
                found = refusals(answer, self._view, self._context, None)
            fields = answer.model_dump(exclude={"message"})
            self._drafts.append(TutorDraft(text=answer.message, refusals=found, **fields))
            if not found:
                return answer, self._record("sent" if self._guard else "off", answer)
            if sum(not draft.fault for draft in self._drafts) > MOST_REWRITES:
                return None, self._record("guard_exhausted")
            self._prompt = next_prompt(self._prompt, reply.text, refused_text(found))

    def _record(self, guard: Any, answer: TutorAnswer | None = None) -> TutorTurn:
        return TutorTurn(
            model=self._model, guard=guard, level=answer.level if answer else None, drafts=self._drafts
        )


async def _begin(chain: Chain) -> Decide:
    """Return the deciding function of one session."""
    from tutoring.arms.transcript import rules_of_record

    rules, conduct = rules_of_record(chain.prepared), chain.prepared[CONDUCT]
    read = partial(_problem_context, conduct["dataset"], chain.task.id, rules)
    problem: MessageContext = await chain.read_once(f"context of {chain.task.id}", read)
    talks = 0

    async def decide(view: TutorView) -> Act:
        nonlocal talks
        if not view.messages_sent:
            return AskCode()
        answer, turn = await _Turn(chain, rules, view, context_of(problem, view)).decide()
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
    rows = Problem.objects.prefetch_related("tests", "references")
    return problem_context(rows.get(dataset__name=dataset, external_id=problem), rules.tutor_may_say)


TUTOR = Policy(
    "tutor",
    frozenset(),
    _begin,
    (TRY_AGAIN, *texts(), *(f"{name} {detector.version}" for name, detector in DETECTORS.items())),
)
