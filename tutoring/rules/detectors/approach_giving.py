"""Handing over an approach in place of the model's own (F1)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.texts import is_question, sentences

_ASKS_FOR_WORDS = (
    r"(?:to\s{1,3})?(?:explain|describ|tell|think|walk|talk|check|writ|look|read|verify|answer|trac|ask|giv)"
)
_OFFERED = re.compile(
    r"\b(?:let\s{1,3}me|I\s{1,3}will|I[’']ll|I[’']m\s{1,3}going\s{1,3}to)\s{1,3}(?:just\s{1,3})?"
    r"(?:suggest|propose|give|tell|show)\b[^.;!?\n]{0,40}\b(?:approach|algorithm|solution|answer|fix)\b",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"\b(?:instead\s{1,3}of|rather\s{1,3}than)\b[^.!?,\n]{3,100},\s{1,3}(?:you\s{1,3}(?:should|can|could|must|need\s{1,3}to)|"
    rf"try|use|just|do|compute|count|keep|store)\b(?!\s{{1,3}}(?:just\s{{1,3}}|first\s{{1,3}})?{_ASKS_FOR_WORDS})",
    re.IGNORECASE,
)


def find_given_approaches(text: str, context: MessageContext) -> list[Detection]:
    """“Let me suggest an alternative approach”, “instead of … , try …”. Asking for words or a plan is allowed."""
    return [
        Detection("F1", sentence.start + found.start(), sentence.start + found.end(), explanation, weight)
        for sentence in sentences(text)
        if not is_question(sentence.text)
        for pattern, explanation, weight in (
            (_OFFERED, "This announces a solution of yours.", 0.55),
            (_REPLACED, "This puts another approach in the place of the model’s.", 0.6),
        )
        for found in pattern.finditer(sentence.text)
    ]
