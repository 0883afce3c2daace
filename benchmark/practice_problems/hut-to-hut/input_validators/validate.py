"""Exits with 42 if standard input is a valid input of From Hut to Hut, else with 43."""

import re
import sys

NUMBER = r"(?:0|[1-9][0-9]*)"


def numbers(line, count, lowest, highest):
    """The numbers of a line that holds exactly `count` of them, one blank apart, all in the range."""
    assert re.fullmatch(f"{NUMBER}(?: {NUMBER})*", line), f"not numbers one blank apart: {line[:40]!r}"
    values = [int(word) for word in line.split(" ")]
    assert len(values) == count, f"{len(values)} numbers, expected {count}"
    assert all(lowest <= value <= highest for value in values), f"out of range: {line[:40]!r}"
    return values


def check(text):
    assert text.endswith("\n"), "the last line does not end"
    lines = text[:-1].split("\n")
    (huts,) = numbers(lines[0], 1, 1, 40_000)
    assert len(lines) == 1 + huts, "wrong number of lines"
    for line in lines[1:]:
        distance, _price = numbers(line, 2, 0, 10**6)
        assert 1 <= distance <= 100, "distance out of range"


try:
    check(sys.stdin.read())
except (AssertionError, IndexError, ValueError) as problem:
    sys.exit(print(f"invalid input: {problem}", file=sys.stderr) or 43)
sys.exit(42)
