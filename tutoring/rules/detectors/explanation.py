"""Detector of explanations of the problem or of the model's misunderstanding (F3)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.phrases import PhrasePattern, phrases_in_statements

_OPPOSITES = """
minimum/maximum minimal/maximal minimize/maximize minimise/maximise least/most smallest/largest smaller/larger
shortest/longest lowest/highest fewest/most first/last increasing/decreasing ascending/descending inclusive/exclusive
rows/columns left/right before/after total/maximum contiguous/arbitrary directed/undirected sum/maximum sum/product
"""
_CONTRAST = re.compile(
    "|".join(
        rf"\b{one}\b[^.!?\n]{{0,80}},?\s{{1,3}}(?:and\s{{1,3}})?(?:not|rather\s{{1,3}}than|instead\s{{1,3}}of)\s{{1,3}}"
        rf"(?:the\s{{1,3}}|in\s{{1,3}})?{other}\b"
        for pair in (words.split("/") for words in _OPPOSITES.split())
        for one, other in (pair, pair[::-1])
    ),
    re.IGNORECASE,
)
_MISUNDERSTOOD = re.compile(
    r"\byou(?:[’']re|[’']ve)?\s{1,3}(?:\w{1,12}\s{1,3}){0,3}?"
    r"(?:misunderst(?:and|ood|anding)|misread(?:ing)?|misinterpret(?:ed|ing)?)\b"
    r"|\byour\s{1,3}(?:misunderstanding|misconception)\s{1,3}(?:is|lies)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:the|this)\s{1,3}(?:problem|statement|task|question)\s{1,3}(?:\w{1,12}\s{1,3}){0,2}?"
    r"(?:asks|wants|says|states|means|requires|specifies|is\s{1,3}asking)\b"
    r"|\bwe\s{1,3}(?:\w{1,12}\s{1,3})?(?:want|need|are\s{1,3}looking\s{1,3}for|are\s{1,3}asked)\s{1,3}"
    r"(?:to\s{1,3}(?:compute|count|minimi[sz]e|maximi[sz]e)|(?:to\s{1,3}find\s{1,3})?the\s{1,3}"
    r"(?:minimum|maximum|smallest|largest|least|total|number))\b",
    re.IGNORECASE,
)
_READING_REQUEST = re.compile(
    r"\b(?:what|where|how|whether|again|understand)\s{1,3}(?:\w{1,12}\s{1,3}){0,2}\Z", re.IGNORECASE
)


_PATTERNS = (
    PhrasePattern(_MISUNDERSTOOD, "This tells the model that, or what, it has misunderstood.", 0.6),
    PhrasePattern(_ASKS, "This explains what the problem asks.", 0.55),
    PhrasePattern(_CONTRAST, "This sets what the problem asks against what the model understood.", 0.75),
)


def find_explanations(text: str, _: MessageContext) -> list[Detection]:
    """Return phrases that explain the problem or the misunderstanding. Questions probe, which is allowed."""
    return [
        phrase.as_detection("F3")
        for phrase in phrases_in_statements(text, _PATTERNS)
        if not _READING_REQUEST.search(phrase.before[-40:])
    ]


DETECTOR = Detector(
    name="explanation",
    version=1,
    clauses=("F3",),
    finds="“you misunderstand …”, “the problem asks …”, “the minimum, not the maximum”",
    ignores="questions",
    find=find_explanations,
)
