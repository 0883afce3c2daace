"""Detector of long numbers and strings that may come from hidden tests (F4)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, Detector, MessageContext

_NUMBER = re.compile(r"(?<![\w.,^])\d{5,30}(?!\w)|(?<![\w.,^])\d{1,3}(?:,\d{3}){1,8}(?![\w,])")
_LONG_WORD = re.compile(r"(?<!\w)[A-Za-z]{16,200}(?!\w)")
_ROUND = re.compile(r"\d{1,2}0+\Z")
_COMMON_NUMBERS = frozenset({"998244353", "1000000007", "1000000009", "2147483647", "2147483648"})
"""Common moduli and limits of integer types."""


def hidden_tokens(text: str) -> set[str]:
    """Return the numbers and strings of a hidden test that are too long for a chance match."""
    return {found[0] for pattern in (_NUMBER, _LONG_WORD) for found in pattern.finditer(text)}


def find_hidden_data(text: str, context: MessageContext) -> list[Detection]:
    """Return tokens of hidden tests in a recorded message, or long numbers of unknown source in a draft (a notice).

    A draft is never compared with hidden tests: the result would reveal their content to the tutor.
    """
    hidden = context.hidden_tokens
    passages = [(found.start(), found.end(), found[0].replace(",", "")) for found in _NUMBER.finditer(text)]
    passages = [passage for passage in passages if _is_distinctive(passage[2])]
    if hidden is not None:
        passages += [(found.start(), found.end(), found[0]) for found in _LONG_WORD.finditer(text)]
        passages = [passage for passage in passages if passage[2] in hidden]
    if not passages:
        return []
    known = " ".join((context.statement, context.analysis, *context.references, *context.replies))
    known = known.replace(",", "")
    if hidden is None:
        explanation = (
            "This long number is in no text that you or the model were given. Test data must not be told."
        )
        weight = 0.4
    else:
        explanation, weight = "This is in a hidden test and in no text that the tutor was given.", 0.9
    return [
        Detection("F4", start, end, explanation, weight)
        for start, end, token in sorted(passages)
        if token not in known
    ]


def _is_distinctive(number: str) -> bool:
    return len(number) >= 5 and not _ROUND.match(number) and number not in _COMMON_NUMBERS


DETECTOR = Detector(
    name="hidden-data",
    version=1,
    clauses=("F4",),
    finds=(
        "in a record: long numbers and strings of hidden tests; in a draft: long numbers of unknown source (a notice)"
    ),
    ignores="round numbers, and every text that the tutor can see",
    find=find_hidden_data,
)
