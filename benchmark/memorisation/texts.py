"""Beginnings and rests of statements and samples."""

import hashlib
import re
from dataclasses import dataclass

from benchmark.metrics.text_overlap import words
from benchmark.models import MemoryProbe, Problem, TestCase, blobs

KINDS = tuple(MemoryProbe.Kind.values)

SHARE = 0.4
"""Share of a statement that the first draw shows."""
LEAST_SHARE, MOST_SHARE = 0.3, 0.5
"""Bounds of the shares that further draws show."""
SAMPLE_SHARE = 0.5

FEWEST_WORDS = {"statement": 20, "sample": 6}
"""Minimum number of words of a rest that is probed: a model may guess a shorter one, or match it by chance."""

_LONGEST_SAMPLE = 20_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_FIRST_SAMPLE = re.compile(
    r"^(?:\W*(?i:sample|example)(?i:s)?(?:\W+\w++)?(?:\W*\d+)?\W*$|SAMPLE INPUT\b)", re.MULTILINE
)
"""The heading of a sample; in USACO's form, values may follow on its line."""


@dataclass(frozen=True)
class Split:
    """A text in two parts, and the share of its characters in the first."""

    beginning: str
    rest: str
    share: float


def share_of(seed: int, problem: str, draw: int) -> float:
    """Return the share of the statement that a draw shows: `SHARE`, or for further draws a seeded one."""
    if draw == 0:
        return SHARE
    digest = hashlib.sha256(f"{seed} {problem} {draw}".encode()).digest()
    return LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * int.from_bytes(digest[:8], "big") / 2**64


def split_statement(statement: str, share: float) -> Split | None:
    """Split a statement at the end of the first sentence after this share of its characters.

    The text from the heading of the first sample on is left out. Returns None for a rest that is too short.
    """
    text = _prose(statement)
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    place = next((end for end in ends if end >= share * len(text)), len(text))
    return _split(text, place, "statement")


def split_sample(input: str, output: str) -> Split | None:
    """Split a sample, input and output together, at the last end of a line in the first half of its characters.

    A sample whose first line is longer is split at the last blank of that half. Returns None for a rest that is too
    short.
    """
    text = f"{input.strip()}\nOutput:\n{output.strip()}"
    half = SAMPLE_SHARE * len(text)
    for separator in (r"\n", r"\s+"):
        ends = [match.end() for match in re.finditer(separator, text) if match.end() <= half]
        if ends:
            return _split(text, ends[-1], "sample")
    return None


def _split(text: str, place: int, kind: str) -> Split | None:
    beginning, rest = text[:place].rstrip(), text[place:].strip()
    if not beginning or len(words(rest)) < FEWEST_WORDS[kind]:
        return None
    return Split(beginning, rest, place / len(text))


def _prose(statement: str) -> str:
    heading = _FIRST_SAMPLE.search(statement)
    text = statement[: heading.start()] if heading and heading.start() > 0 else statement
    return text.strip()


def split_problem(problem: Problem, kind: str, share: float) -> Split | None:
    """Split the statement or the first sample of a problem; None if it has none or its rest is too short."""
    if kind == "statement":
        return split_statement(problem.statement, share)
    test = problem.tests.filter(origin=TestCase.Origin.SAMPLE).order_by("order").first()
    if test is None:
        return None
    input, output = (
        blobs.read(digest)[:_LONGEST_SAMPLE].decode("utf-8", "replace")
        for digest in (test.input_hash, test.answer_hash)
    )
    return split_sample(input, output)
