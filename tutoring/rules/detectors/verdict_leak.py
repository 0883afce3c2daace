"""Detector of results that only a run shows, beyond what the protocol lets the tutor say (F5)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.phrases import PhrasePattern, phrases_in_statements

_TESTS = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|solv(?:es|ed))\s{1,3}"
    r"(?:on\s{1,3})?(?:\w{1,15}\s{1,3}){0,4}?(?:tests?|cases?|samples?)(?:\s{1,3}(?:tests?|cases?)){0,2}\b"
    r"|\b(?:\d{1,3}|some|most|many|all|few)\s{1,3}(?:of\s{1,3}(?:the\s{1,3})?)?(?:\d{1,3}\s{1,3})?"
    r"(?:hidden\s{1,3}|test\s{1,3})?(?:tests?|cases?)\s{1,3}(?:pass|fail)(?:es|ed)?\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:tim(?:es|ed|ing)\s{1,3}out|time[\s-]{1,3}limit\s{1,3}(?:is\s{1,3}|was\s{1,3})?exceeded|"
    r"exceed(?:s|ed)\s{1,3}the\s{1,3}(?:time|memory)\s{1,3}limit|out\s{1,3}of\s{1,3}memory\s{1,3}error|"
    r"(?-i:TLE|MLE|WA|RTE))\b",
    re.IGNORECASE,
)
_ERRORS = re.compile(
    r"\bTraceback\b|\b(?:Index|Key|Value|Type|Name|ZeroDivision|Recursion|Attribute|Memory|EOF|Runtime)Error\b"
    r"|\b(?:gives|gave|throws|threw|raises|raised|crash(?:es|ed))\s{1,3}(?:with\s{1,3})?(?:an?\s{1,3})?(?:\w{1,15}\s{1,3}){0,2}"
    r"(?:error|exception)\b|\bsegmentation fault\b"
    r"|\b(?:your\s{1,3})?(?:code|program|solution|it)\s{1,3}(?:currently\s{1,3}|actually\s{1,3}|incorrectly\s{1,3})?"
    r"(?:outputs|printed|prints|returned)\s{1,3}-?\d",
    re.IGNORECASE,
)
_RIGHT_OR_WRONG = re.compile(
    r"\b(?:not|isn[’']t|still|is|are|also|now|completely|again)\s{1,3}(?:\w{1,15}\s{1,3}){0,2}?(?:correct|right|incorrect|wrong|working)\b"
    r"|\b(?:code|program|solution|it)\s{1,3}(?:now\s{1,3})?(?:works|does\s{1,3}not\s{1,3}work|doesn[’']t\s{1,3}work)\b",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(
    r"\b(?:may|might|could|can|would|will|potentially|likely|probably|if|should|make\s{1,3}sure)\b[^.!?\n]{0,40}\Z",
    re.IGNORECASE,
)
_SAMPLE = re.compile(r"\b(?:sample|example)s?\b", re.IGNORECASE)


_ALWAYS = (
    PhrasePattern(_TESTS, "This tells which tests pass; only a run shows that.", 0.75),
    PhrasePattern(_LIMITS, "This reports an exceeded limit; only a run shows that.", 0.75),
    PhrasePattern(_ERRORS, "This reports an error or an output of a run.", 0.6),
)
_ONLY_UNDER_NOTHING = PhrasePattern(
    _RIGHT_OR_WRONG, "Under this protocol nothing is said about right and wrong.", 0.6
)


def find_verdict_leaks(text: str, context: MessageContext) -> list[Detection]:
    """Return phrases about test results, exceeded limits, errors and outputs.

    If the tutor may say nothing of a verdict, also return phrases about right and wrong. Questions and possibilities
    ("this may time out") are general directions, which are allowed.
    """
    patterns = (*_ALWAYS, _ONLY_UNDER_NOTHING) if context.tutor_may_say == "nothing" else _ALWAYS
    return [
        phrase.as_detection("F5")
        for phrase in phrases_in_statements(text, patterns)
        if not _POSSIBLE.search(phrase.before)
        and not (context.tutor_may_say == "samples" and _SAMPLE.search(phrase.text))
    ]


DETECTOR = Detector(
    name="verdict-leak",
    version=1,
    clauses=("F5",),
    finds="tests passed, limits exceeded, errors and outputs; right and wrong if the protocol forbids it",
    ignores="questions, possibilities (“may time out”)",
    find=find_verdict_leaks,
)
