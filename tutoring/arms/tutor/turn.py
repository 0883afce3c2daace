"""One turn of a tutor's model: it writes a message, and the guard decides whether the message may be sent.

A turn has at most `1 + MOST_REWRITES` drafts that could be parsed. The decision follows from the view, the conduct and
the replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from benchmark.prompts import Prompt
from tutoring.arms.policy import TutorView
from tutoring.arms.tutor.answer import AnswerError, TutorAnswer, parse_answer
from tutoring.arms.tutor.guard import refusals
from tutoring.arms.tutor.prompt import first_prompt, next_prompt, refused_text, unparsable_text
from tutoring.models.payloads import GuardRefusal, TutorDraft, TutorTurn
from tutoring.protocols import Rules
from tutoring.rules import MessageContext

MOST_REWRITES = 3
"""Drafts of a turn after the first one that was parsed."""

_MOST_UNPARSABLE = 2
"""Replies of a turn that are not JSON; after them the turn ends without a message."""


Guard = Callable[[TutorAnswer, TutorView, MessageContext, int | None], Awaitable[list[GuardRefusal]]]


async def check_here(
    answer: TutorAnswer, view: TutorView, context: MessageContext, cap: int | None
) -> list[GuardRefusal]:
    """Return the refusals of the guard without leaving this thread, so that the turn suspends for replies only."""
    return refusals(answer, view, context, cap)


async def check_in_thread(
    answer: TutorAnswer, view: TutorView, context: MessageContext, cap: int | None
) -> list[GuardRefusal]:
    """Return the refusals of the guard from another thread: the detectors take too long for a shared event loop."""
    return await asyncio.to_thread(refusals, answer, view, context, cap)


@dataclass(frozen=True)
class Conduct:
    """The tutor's model as the record names it, the highest level of a message (None: no bound), and the guard."""

    model: str
    cap: int | None
    guard: bool
    template_hash: str
    check: Guard = field(default=check_here, compare=False)


class Turn:
    """One turn. `request` returns the text of the model's reply to a prompt."""

    def __init__(
        self,
        request: Callable[[Prompt], Awaitable[str]],
        conduct: Conduct,
        rules: Rules,
        view: TutorView,
        context: MessageContext,
    ) -> None:
        self._request = request
        self._view = view
        self._context = context
        caps = [cap for cap in (conduct.cap, rules.level_cap) if cap is not None]
        self._cap = min(caps, default=None)
        self._conduct = conduct
        self._prompt = first_prompt(view, rules, self._cap, conduct.template_hash)
        self._drafts: list[TutorDraft] = []

    async def decide(self) -> tuple[TutorAnswer | None, TutorTurn]:
        """Return the answer to carry out, None if no draft may be sent, with the record of all drafts."""
        unparsable = 0
        while True:
            text = await self._request(self._prompt)
            try:
                answer = parse_answer(text)
            except AnswerError as error:
                self._drafts.append(TutorDraft(text=text, fault=str(error)))
                unparsable += 1
                if unparsable == _MOST_UNPARSABLE:
                    return None, self._record("unparsable")
                self._prompt = next_prompt(self._prompt, text, unparsable_text(str(error)))
                continue
            found = await self._refusals(answer)
            fields = answer.model_dump(exclude={"message"})
            self._drafts.append(TutorDraft(text=answer.message, refusals=found, **fields))
            if not found:
                return answer, self._record("sent" if self._conduct.guard else "off", answer)
            if sum(not draft.fault for draft in self._drafts) > MOST_REWRITES:
                return None, self._record("guard_exhausted")
            self._prompt = next_prompt(self._prompt, text, refused_text(found))

    async def _refusals(self, answer: TutorAnswer) -> list[GuardRefusal]:
        """Return why the draft may not be sent. Without a guard, only an execution without a program is refused."""
        if not self._conduct.guard and answer.act != "execute":
            return []
        return await self._conduct.check(answer, self._view, self._context, self._cap)

    def _record(self, guard: Any, answer: TutorAnswer | None = None) -> TutorTurn:
        level = answer.level if answer else None
        return TutorTurn(model=self._conduct.model, guard=guard, level=level, drafts=self._drafts)
