"""Exits with 42 if standard input is a valid input of The Returns Trolley, else with 43."""

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
    assert len(lines) == 2, "wrong number of lines"
    books, _capacity = numbers(lines[0], 2, 1, 50_000)
    numbers(lines[1], books, 1, 10_000)


try:
    check(sys.stdin.read())
except (AssertionError, IndexError, ValueError) as problem:
    sys.exit(print(f"invalid input: {problem}", file=sys.stderr) or 43)
sys.exit(42)
