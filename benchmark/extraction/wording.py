"""Statements about a program in the text around it: that it is final, or that it is not."""

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
"""Words that call a program final unless one of the words below is next to them."""

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
    "key line",
    "key lines",
    "key part",
    "core line",
    "core idea",
    "snippet",
    "excerpt",
    "for example",
    "usage",
    "demo",
    "demonstration",
    "illustration",
    "for intuition",
    "exponential",
    "for small",
)
"""Words that say that a program should not be judged."""


def _words(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(re.escape(word) for word in words)})(?![\w])")


# The patterns below except _HEADING and _COMMENT are for text in lower case, which halves the time of a search.
_FINAL, _WHOLE, _OTHER = _words(FINAL), _words(WHOLE), _words(OTHER)
_ANY = _words(FINAL + WHOLE + OTHER)
_NOT = re.compile(
    r"\b(?:not|never|no|don't|doesn't|isn't|aren't|won't|avoid(?:s|ing)?|without|instead of|rather than|unlike"
    r"|than|over|replac(?:es?|ing)|beats?|improv(?:es?|ing)|compared|from)\b(?:\s+\S+){0,3}\s*$",
)
_SENTENCE = re.compile(r"[.!?;](?:\s|$)|\n")
_CONTRAST = re.compile(r"\b(?:so|but|hence|therefore|instead|thus)\b(?! of\b)")
_CLAUSE = re.compile(r",\s|\s[-–—]+\s|\(|\)|:\s|\bbecause\b")
_PRONOUN = re.compile(r"\W*(?:this|that|it|these)\b")
_BACK = re.compile(
    r"\W*(?:(?:however|but|unfortunately|wait|hmm|oops|note that|actually|sadly|also|although|while|well)\W+)*"
    r"(?:this|that|it|these|above|the (?:(?:code|program) )?above|the previous|the first|there(?: i|')s a bug)\b",
)
"""Beginnings of clauses about the preceding program."""

_EARLIER = re.compile(r"\b(?:above|previous|earlier|last)\b")
_DOUBT = re.compile(
    r"\W*(?:wait|hmm+|oops|hold on|actually)\b[^\n]{0,80}?\b"
    r"(?:wrong|bug|mistake|error|incorrect|slow|fails?|miss(?:ed|es)|forgot|isn't right|not right)",
)
_NUMBERS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "last": -1}
_NUMBERED = re.compile(
    rf"\b({'|'.join(_NUMBERS)})\s+(?:one|program|version|solution|code|block|implementation|listing)\b",
)
_HEADING = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+(?P<hashes>.+)|\*\*(?P<stars>[^*\n]+)\*\*:?[ \t]*)$", re.MULTILINE
)
_COMMENT = re.compile(r"\s*(?:#(?!include|define|pragma)|//|/\*+|\"\"\"|\'\'\')[ \t]*([^\n]*)")
_REACH = 400
"""Characters of text that are read before and after a block."""


class Mark(IntEnum):
    """The statement of the text about a program. Of two complete programs, the higher mark is chosen."""

    OTHER = -1
    NONE = 0
    FINAL = 1


def mark_of(before: str, code: str, after: str) -> Mark:
    """Return the statement about a program in the text up to the previous and the next block.

    A doubt in the text after it takes precedence ("This is too slow"). Then the paragraph before the program counts,
    the heading above it, the comment in the program's first line, and the text after it if it refers back.
    """
    after = after.lstrip()[:_REACH].lower().split("\n\n")[0]
    if _DOUBT.match(after) or _judge_back(after) is Mark.OTHER:
        return Mark.OTHER
    before = before.rstrip()
    paragraph = re.split(r"\n[ \t>]*\n", before[-_REACH:].lower())[-1]
    comment = _COMMENT.match(code)
    places = [
        _judge_ahead(paragraph),
        _judge_ahead(_last_heading(before).lower()),
        _judge_ahead(comment[1].lower() if comment else ""),
    ]
    if Mark.OTHER in places and not _finds(_FINAL, paragraph):
        return Mark.OTHER
    return next((mark for mark in places if mark), _judge_back(after))


def marks_by_number(text: str) -> dict[int, Mark]:
    """Return the statements about numbered programs ("the first one is final"), by their index."""
    marks: dict[int, Mark] = {}
    for sentence in _SENTENCE.split(text.lower()):
        for clause in _CLAUSE.split(sentence):
            numbered = _NUMBERED.search(clause)
            if numbered and (mark := _judge_clause(clause)):
                marks[_NUMBERS[numbered[1]]] = mark
    return marks


def _last_heading(before: str) -> str:
    headings = [found["hashes"] or found["stars"] for found in _HEADING.finditer(before[-10 * _REACH :])]
    return headings[-1] if headings else ""


def _judge_ahead(text: str) -> Mark:
    """Return the statement of a text about the block after it, from its last sentence backwards.

    Text before a contrast ("this is too slow, so …") is about something else. Words of OTHER count only in the
    last sentence, and in earlier ones while every following sentence begins with a pronoun.
    """
    if not _ANY.search(text):
        return Mark.NONE
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    near = True
    for sentence in reversed(sentences):
        *earlier, last = _CLAUSE.split(_CONTRAST.split(sentence)[-1])
        announces = near and sentence is sentences[-1] and sentence.rstrip().endswith((":", ":**"))
        about_this = near and not _BACK.match(sentence)
        for clause, counts in [
            (last, about_this or announces),
            *((one, about_this) for one in reversed(earlier)),
        ]:
            mark = _judge_clause(clause)
            if mark is Mark.FINAL or (mark is Mark.OTHER and counts):
                return Mark.NONE if mark is Mark.OTHER and _EARLIER.search(clause) else mark
        near = near and bool(_PRONOUN.match(sentence))
    return Mark.NONE


def _judge_back(text: str) -> Mark:
    """Return the statement of a text about the block before it, in the first sentence if it refers back."""
    sentence = next((sentence for sentence in _SENTENCE.split(text) if sentence.strip()), "")
    announces = sentence.rstrip() == text.strip() and text.rstrip().endswith((":", ":**"))
    if not _BACK.match(sentence) or (announces and len(_CLAUSE.split(sentence)) == 1):
        return Mark.NONE
    words = re.sub(r"^\W*(?:so|but)\b", "", sentence)
    return _judge_clause(_CLAUSE.split(_CONTRAST.split(words)[0])[0])


def _judge_clause(clause: str) -> Mark:
    """Return the statement of one clause. A negated word for final ("don't submit") means the opposite."""
    if _FINAL.search(clause):
        return Mark.FINAL if _finds(_FINAL, clause) else Mark.OTHER
    if _finds(_OTHER, clause):
        return Mark.OTHER
    return Mark.FINAL if _finds(_WHOLE, clause) else Mark.NONE


def _finds(words: re.Pattern[str], clause: str) -> bool:
    return any(not _NOT.search(clause[: found.start()]) for found in words.finditer(clause))
