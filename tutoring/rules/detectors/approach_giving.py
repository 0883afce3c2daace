"""Detector of an approach that replaces the model's own (F1)."""

from __future__ import annotations

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.phrases import PhrasePattern, phrases_in_statements

_REQUEST_VERBS = (
    r"(?:to\s{1,3})?(?:explain|describ|tell|think|walk|talk|check|writ|look|read|verify|answer|trac|ask|giv)"
)
_OFFERED = CaselessPattern(
    r"\b(?:let\s{1,3}me|I\s{1,3}will|I[’']ll|I[’']m\s{1,3}going\s{1,3}to)\s{1,3}(?:just\s{1,3})?"
    r"(?:suggest|propose|give|tell|show)\b[^.;!?\n]{0,40}\b(?:approach|algorithm|solution|answer|fix)\b",
)
_REPLACED = CaselessPattern(
    r"\b(?:instead\s{1,3}of|rather\s{1,3}than)\b[^.!?,\n]{3,100},\s{1,3}(?:you\s{1,3}(?:should|can|could|must|need\s{1,3}to)|"
    rf"try|use|just|do|compute|count|keep|store)\b(?!\s{{1,3}}(?:just\s{{1,3}}|first\s{{1,3}})?{_REQUEST_VERBS})",
)


_PATTERNS = (
    PhrasePattern(_OFFERED, "This announces a solution of yours.", 0.55, certain=True),
    PhrasePattern(_REPLACED, "This replaces the model’s approach with another one.", 0.6, certain=True),
)


def find_given_approaches(text: str, _: MessageContext) -> list[Detection]:
    """Return phrases such as “let me suggest an alternative approach” and “instead of …, try …”.

    Questions, and requests for words or a plan, are allowed.
    """
    return [phrase.as_detection("F1") for phrase in phrases_in_statements(text, _PATTERNS)]


DETECTOR = Detector(
    name="approach-giving",
    version=1,
    clauses=("F1",),
    finds="“let me suggest another approach”, “instead of …, try …”",
    ignores="requests for words or a plan; questions",
    find=find_given_approaches,
)
