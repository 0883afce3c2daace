"""`simulated-checker:CONDUCT`: checker models with a known conduct, for tests and demonstrations without a key.

They answer the prompt of the model checker (`tutoring/checks/model_checker.txt`). *attentive* quotes sentences with
“left out” or “counted twice”; *inventive* adds quotations and clauses that do not exist; *talkative* answers in prose;
*slow* answers like *attentive* after more seconds than a page waits.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Sequence

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Completed, Message, Parameters, StreamEvent, TextDelta, TokenUsage

CONDUCTS = ("attentive", "inventive", "talkative", "slow")
"""The models of the provider."""

SLOW = 5.0
"""Seconds until *slow* answers."""

_MESSAGE = re.compile(r"\[BEGIN MESSAGE\]\n(.*)\n\[END MESSAGE\]", re.DOTALL)
_MISTAKE = re.compile(r"[^.?!\s][^.?!\n]*\b(?:left out|leaves out|counted twice)\b[^.?!\n]*", re.IGNORECASE)


class SimulatedCheckers:
    """The simulated checkers as a provider; its models are the conducts."""

    scripted = True

    async def stream(
        self,
        model: str,
        messages: Sequence[Message],
        parameters: Parameters,  # noqa: ARG002  (no parameter has an effect)
    ) -> AsyncIterator[StreamEvent]:
        """Yield the answer to the prompt. Words separated by blanks are tokens.

        Raises ProviderError (kind "configuration") for an unknown conduct.
        """
        if model not in CONDUCTS:
            raise ProviderError(
                "configuration", f"There is no simulated checker {model!r}. There are: {', '.join(CONDUCTS)}."
            )
        await asyncio.sleep(SLOW if model == "slow" else 0)
        prompt = messages[-1].content
        answer = _answer(model, prompt)
        usage = TokenUsage(
            len(prompt.split()), len(answer.split()), cached_input_tokens=0, reasoning_tokens=0
        )
        yield TextDelta(answer)
        digest = hashlib.sha256(f"{model}\n{prompt}".encode()).hexdigest()
        yield Completed(usage, model, "stop", request_id=f"simulated-checker-{digest[:16]}")

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _answer(model: str, prompt: str) -> str:
    if model == "talkative":
        return "This message looks fine to me, although it [perhaps] says a little much."
    said = _MESSAGE.search(prompt)
    found = [
        {"clause": "F3", "quote": match.group(), "reason": "It explains what the student did wrong."}
        for match in _MISTAKE.finditer(said.group(1) if said else "")
    ]
    if model == "inventive":
        found += [
            {"clause": "F1", "quote": "words that nobody wrote", "reason": "It names the algorithm."},
            {"clause": "F9", "quote": said.group(1) if said else "", "reason": "It breaks another rule."},
        ]
    return json.dumps(found, ensure_ascii=False)
