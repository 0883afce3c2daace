"""Patterns that ignore case find what Python's patterns with re.IGNORECASE find."""

from __future__ import annotations

import re

import pytest

from tutoring.rules.caseless import CaselessPattern

TEXT = "Its TEST fails: tests|2 of (three) [pass]. Not a Test? Ein Testfall scheitert，两个测试没过 | test 3"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\btest\b|\btests\b",
        r"\btests?\s\d|测试|\bTest|\bof\b",
        r"[|(]\w|\bp[a|b]ss\b|\b(?:two|2)\s(?:of|out\sof)\b|\bthree\)",
        r"\bpass\]|\(three\)|\b[^]|]ot\b|\bnot\sa\b",
        r"(?:\btest|\bein)\s|\bein\b",
        r"\b(?:pass|fail)s",
    ],
)
def test_alternatives_match_as_without_grouping(pattern: str) -> None:
    expected = [match.span() for match in re.finditer(pattern, TEXT, re.IGNORECASE)]
    assert expected
    assert [match.span() for match in CaselessPattern(pattern).finditer(TEXT)] == expected
