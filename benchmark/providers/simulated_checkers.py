"""`simulated-checker:CONDUCT`: checker models with a known conduct, for tests and demonstrations without a key.

They answer the prompt of the model checker (`tutoring/checks/model_checker.txt`). *attentive* quotes sentences with
“left out” or “counted twice”; *inventive* adds quotations and clauses that do not exist; *talkative* answers in prose;
*slow* answers like *attentive* after more seconds than a page waits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from benchmark.providers.conducts import ConductProvider
from benchmark.providers.protocol import Message

CONDUCTS = ("attentive", "inventive", "talkative", "slow")
"""The models of the provider."""

SLOW = 5.0
"""Seconds until *slow* answers."""

_MESSAGE = re.compile(r"\[BEGIN MESSAGE\]\n(.*)\n\[END MESSAGE\]", re.DOTALL)
_MISTAKE = re.compile(r"[^.?!\s][^.?!\n]*\b(?:left out|leaves out|counted twice)\b[^.?!\n]*", re.IGNORECASE)


class SimulatedCheckers(ConductProvider):
    """The simulated checkers as a provider."""

    role = "checker"
    conducts = CONDUCTS
    seconds = {"slow": SLOW}

    def answer(self, conduct: str, messages: Sequence[Message]) -> str:
        """Return the findings of a conduct as JSON, or the prose of *talkative*."""
        return _answer(conduct, messages[-1].content)


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
