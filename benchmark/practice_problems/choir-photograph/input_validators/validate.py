"""Exits with 42 if standard input is a valid input of The Choir Photograph, else with 43."""

import re
import sys


def check(text):
    match = re.fullmatch(r"([1-9][0-9]{0,5})\n([SATB]+)\n", text)
    assert match, "not a number and a line of the letters S, A, T and B"
    singers = int(match[1])
    assert singers <= 100_000, "too many singers"
    assert len(match[2]) == singers, f"{len(match[2])} letters for {singers} singers"


try:
    check(sys.stdin.read())
except AssertionError as problem:
    sys.exit(print(f"invalid input: {problem}", file=sys.stderr) or 43)
sys.exit(42)
