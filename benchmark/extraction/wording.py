"""Reads what the text around a program says of it: that it is the final one, or another."""

from __future__ import annotations

import re
from enum import IntEnum

FINAL = (
    "final",
    "corrected",
    "fixed",
    "revised",
    "improved",
    "optimized",
    "optimised",
    "submit",
    "submission",
    "accepted",
    "recommended",
)
"""Words that call a program final by themselves."""

WHOLE = (
    "complete",
    "full",
    "whole",
    "entire",
    "efficient",
    "optimal",
    "working",
    "updated",
    "here is the solution",
    "here's the solution",
    "the solution is",
    "my solution",
    "main solution",
    "actual solution",
    "your solution",
    "answer",
)
"""Words that call a program final where none of the words below stands beside them."""

OTHER = (
    "brute force",
    "brute-force",
    "bruteforce",
    "naive",
    "naïve",
    "alternative",
    "alternatively",
    "another way",
    "another approach",
    "other approach",
    "different approach",
    "variant",
    "too slow",
    "slow",
    "slower",
    "inefficient",
    "tle",
    "time limit exceeded",
    "times out",
    "time out",
    "for testing",
    "to test",
    "test harness",
    "tester",
    "stress test",
    "stress-test",
    "stress",
    "sanity check",
    "for debugging",
    "debug version",
    "to check",
    "to verify",
    "checker",
    "generator",
    "for reference",
    "for comparison",
    "for completeness",
    "reference implementation",
    "wrong",
    "incorrect",
    "buggy",
    "broken",
    "fails",
    "flawed",
    "does not work",
    "doesn't work",
    "not correct",
    "first attempt",
    "first try",
    "first idea",
    "initial attempt",
    "initial version",
    "previous attempt",
    "original code",
    "your code",
    "draft",
    "sketch",
    "skeleton",
    "template",
    "for fun",
    "optional",
    "optionally",
    "if you prefer",
    "example usage",
    "usage example",
    "do not submit",
    "don't submit",
    "simple but",
    "exponential",
    "for small",
)
"""Words that say that a program is not the one to be judged."""


def _words(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(re.escape(word) for word in words)})(?![\w])", re.IGNORECASE)


_FINAL, _WHOLE, _OTHER = _words(FINAL), _words(WHOLE), _words(OTHER)
_NOT = re.compile(
    r"\b(?:not|never|no|isn't|aren't|won't|avoids?|without|instead of|rather than|unlike|than)\b(?:\s+\S+){0,3}\s*$",
    re.I,
)
_CLAUSE = re.compile(
    r"[.!?;]\s|\n|,\s|\s[-–—]+\s|\(|\)|\b(?:so|but|because|hence|therefore|instead)\b", re.IGNORECASE
)
_BACK = re.compile(
    r"\W*(?:(?:however|but|unfortunately|wait|hmm|oops|note that|actually|sadly|also|although|while|well)\W+)*"
    r"(?:this|that|it|these|which|above|the (?:(?:code|program) )?above|the previous|the first|there(?: i|')s a bug)\b",
    re.IGNORECASE,
)
"""How a clause begins that speaks of the program before it."""

_EARLIER = re.compile(r"\b(?:above|previous|earlier|last)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\W*(?:wait|hmm+|oops|hold on|actually)\b[^\n]{0,80}?\b"
    r"(?:wrong|bug|mistake|error|incorrect|slow|fails?|miss(?:ed|es)|forgot|isn't right|not right)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+(?P<hashes>.+)|\*\*(?P<stars>[^*\n]+)\*\*:?[ \t]*)$", re.MULTILINE
)
_COMMENT = re.compile(r"\s*(?:#(?!include|define|pragma)|//|/\*+|\"\"\"|\'\'\')[ \t]*([^\n]*)")
_REACH = 400
"""Characters of text before and behind a block that are read."""


class Mark(IntEnum):
    """What the text says of a program; of two complete programs the higher one is chosen."""

    OTHER = -1
    NONE = 0
    FINAL = 1


def mark_of(before: str, code: str, behind: str) -> Mark:
    """Return what the text says of a program: `before` and `behind` reach to the blocks before and behind it.

    A doubt in the text behind comes first ("This is too slow"). Then the paragraph before the program counts, the
    heading over it, the comment in the program's first line, and the text behind where it looks back.
    """
    behind = behind.lstrip()[:_REACH].split("\n\n")[0]
    if _DOUBT.match(behind) or _judge_back(behind) is Mark.OTHER:
        return Mark.OTHER
    before = before.rstrip()
    paragraph = re.split(r"\n[ \t>]*\n", before[-_REACH:])[-1]
    comment = _COMMENT.match(code)
    for text in (paragraph, _last_heading(before), comment[1] if comment else ""):
        if mark := _judge(text):
            return mark
    return _judge_back(behind)


def _last_heading(before: str) -> str:
    headings = [found["hashes"] or found["stars"] for found in _HEADING.finditer(before[-10 * _REACH :])]
    return headings[-1] if headings else ""


def _judge(text: str) -> Mark:
    """Return what a text says of the block behind it. What looks back is about the block before."""
    sentences = [clause for clause in _clauses(text) if clause.strip()]
    ahead = [
        clause for at, clause in enumerate(sentences) if not (_looks_back(clause) and at < len(sentences) - 1)
    ]
    for clause in reversed(ahead):
        if mark := _judge_clause(clause):
            back = _looks_back(clause) or _EARLIER.search(clause)
            return Mark.NONE if mark is Mark.OTHER and back else mark
    return Mark.NONE


def _judge_back(text: str) -> Mark:
    """Return what a text says of the block before it, in the first sentence that looks back."""
    clauses = [clause for clause in _clauses(text) if clause.strip()]
    for clause in clauses[:2]:
        if _looks_back(clause):
            return _judge_clause(clause)
    return Mark.NONE


def _clauses(text: str) -> list[str]:
    return _CLAUSE.split(text)


def _looks_back(clause: str) -> bool:
    return bool(_BACK.match(clause))


def _judge_clause(clause: str) -> Mark:
    final = _finds(_FINAL, clause)
    if final:
        return Mark.FINAL
    if _finds(_OTHER, clause):
        return Mark.OTHER
    return Mark.FINAL if _finds(_WHOLE, clause) else Mark.NONE


def _finds(words: re.Pattern[str], clause: str) -> bool:
    return any(not _NOT.search(clause[: found.start()]) for found in words.finditer(clause))
