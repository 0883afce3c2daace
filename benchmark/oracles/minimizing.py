"""Minimization of failing inputs: remove or reduce parts while the program still fails."""

import json
from collections.abc import Callable, Iterator
from typing import Any

Fails = Callable[[list[str]], list[bool]]
"""A function that returns for each input whether it is valid and the program still fails on it."""

_ROUND = 40
"""Number of inputs per round; each round is one run in the sandbox."""

_ROUNDS = 12


def minimize(failing: str, fails: Fails, *, values: bool) -> str:
    """Return a smaller input on which the program fails; the same input if none is found.

    With `values`, an input is one JSON value per line, and the values are reduced; otherwise the lines and words of the
    text. Each round continues with the first simpler input that fails. At most 12 rounds of 40 inputs run.
    """
    simpler = _simpler_values if values else _simpler_text
    current, tried = failing, {failing}
    for _ in range(_ROUNDS):
        options = []
        for option in simpler(current):
            if option not in tried:
                tried.add(option)
                options.append(option)
            if len(options) == _ROUND:
                break
        smaller = next((one for one, failed in zip(options, fails(options), strict=True) if failed), None)
        if smaller is None:
            return current
        current = smaller
    return current


def _simpler_values(text: str) -> Iterator[str]:
    """Yield inputs with one simpler value, largest reductions first."""
    lines = [json.loads(line) for line in text.split("\n") if line.strip()]
    for index, value in enumerate(lines):
        for option in _simpler_value(value):
            changed = [*lines[:index], option, *lines[index + 1 :]]
            yield "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in changed)


def _simpler_value(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        nearer = (0, 1, -1, int(value / 2), value - 1, value + 1)
        yield from (option for option in dict.fromkeys(nearer) if abs(option) < abs(value))
    elif isinstance(value, str):
        yield from _shortened(value)
    elif isinstance(value, list):
        yield from _shortened(value)
        for index, one in enumerate(value):
            for option in _simpler_value(one):
                yield [*value[:index], option, *value[index + 1 :]]


def _shortened(value: Any) -> Iterator[Any]:
    """Yield the sequence without a half, a quarter, …, one element."""
    length = len(value) // 2 or len(value)
    while length:
        for start in range(0, len(value), length):
            yield value[:start] + value[start + length :]
        length //= 2


def _simpler_text(text: str) -> Iterator[str]:
    """Yield inputs with fewer lines, then with smaller numbers, then with fewer words."""
    lines = text.rstrip("\n").split("\n")
    for kept in _shortened(lines):
        yield "\n".join(kept) + "\n"
    words = [line.split() for line in lines]
    for row, line in enumerate(words):
        for column, word in enumerate(line):
            if word.lstrip("-").isdecimal():
                for option in _simpler_value(int(word)):
                    yield _joined(words, row, [*line[:column], str(option), *line[column + 1 :]])
    for row, line in enumerate(words):
        for kept in _shortened(line):
            yield _joined(words, row, kept)


def _joined(words: list[list[str]], row: int, line: list[str]) -> str:
    return "\n".join(" ".join(one) for one in [*words[:row], line, *words[row + 1 :]]) + "\n"
