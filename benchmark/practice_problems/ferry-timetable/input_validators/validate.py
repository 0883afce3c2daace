"""Exits with 42 if standard input is a valid input of The Ferry Timetable, else with 43."""

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
    islands, sailings = numbers(lines[0], 2, 1, 20_000)
    assert 2 <= islands <= 500, "wrong number of islands"
    numbers(lines[1], islands, 0, 1000)
    assert len(lines) == 2 + sailings, "wrong number of lines"
    for line in lines[2:]:
        start, goal, leaves, arrives, fare = numbers(line, 5, 0, 100_000)
        assert 1 <= start <= islands and 1 <= goal <= islands, "no such island"
        assert start != goal, "a sailing to where it started"
        assert leaves < arrives, "a sailing that takes no time"
        assert fare <= 1000, "fare out of range"


try:
    check(sys.stdin.read())
except (AssertionError, IndexError, ValueError) as problem:
    sys.exit(print(f"invalid input: {problem}", file=sys.stderr) or 43)
sys.exit(42)
