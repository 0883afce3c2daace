"""Long numbers and strings that may come from hidden tests (F4)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, MessageContext

_NUMBER = re.compile(r"(?<![\w.,^])\d{5,30}(?!\w)|(?<![\w.,^])\d{1,3}(?:,\d{3}){1,8}(?![\w,])")
_TEXT = re.compile(r"(?<!\w)[A-Za-z]{16,200}(?!\w)")
_ROUND = re.compile(r"\d{1,2}0+\Z")
_CUSTOMARY = frozenset({"998244353", "1000000007", "1000000009", "2147483647", "2147483648"})
"""Moduli and limits of integers that everybody knows."""


def hidden_tokens(text: str) -> set[str]:
    """The numbers and strings of a hidden test that are too long to be met by chance."""
    return {found[0] for pattern in (_NUMBER, _TEXT) for found in pattern.finditer(text)}


def find_hidden_data(text: str, context: MessageContext) -> list[Detection]:
    """Tokens of hidden tests in a recorded message; in a draft, long numbers whose source is unknown (a notice).

    A draft is never compared with hidden tests: the answer would tell the tutor what stands in them.
    """
    hidden = context.hidden_tokens
    places = [(found.start(), found.end(), found[0].replace(",", "")) for found in _NUMBER.finditer(text)]
    places = [place for place in places if _is_telling(place[2])]
    if hidden is not None:
        places += [(found.start(), found.end(), found[0]) for found in _TEXT.finditer(text)]
        places = [place for place in places if place[2] in hidden]
    if not places:
        return []
    known = " ".join((context.statement, context.analysis, *context.references, *context.replies))
    known = known.replace(",", "")
    explanation, weight = (
        (
            "This long number stands in no text that you or the model were given. Test data must not be told.",
            0.4,
        )
        if hidden is None
        else ("This stands in a hidden test and in no text that the tutor was given.", 0.9)
    )
    return [
        Detection("F4", start, end, explanation, weight)
        for start, end, token in sorted(places)
        if token not in known
    ]


def _is_telling(number: str) -> bool:
    return len(number) >= 5 and not _ROUND.match(number) and number not in _CUSTOMARY
