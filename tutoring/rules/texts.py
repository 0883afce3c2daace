"""Words, sentences and pieces of code of a message, each with its place. All in linear time, on any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_WORD = re.compile(r"\w+")
_CODE_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|\w+|[^\w\s]")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_FENCED = re.compile(r"(?:```|~~~)[^\n]{0,40}\n(.{1,100000}?)(?:```|~~~|\Z)", re.DOTALL)
_BACKTICKED = re.compile(r"`([^`\n]{1,300})`")
_ASSIGNMENT = re.compile(
    r"[^\W\d][\w.]{0,60}(?:\[[^\]\n]{1,60}\]){0,2}[ ]?(?:[-+*/%&|^]|//|<<|>>)?=(?!=)[ ]?(?:[^\n.;,`!?=]|\.\w){1,120}"
)
_COMPUTES = re.compile(r"[\w)\]] ?(?:[-+*/%<>(\[]|//) ?[\w(]")
_BLOCK_LINE = re.compile(r"(?:for|while|if|elif|else if|def|class)\b.{0,200}[:{]$")
_WEAK_LINE = re.compile(
    r"(?:for|while|if|elif|else)\b.{0,200}:$|[\w.]{1,60}\(.{0,200}\)$|(?:else|try):$|[{}]$"
)
"""What is code beside lines that surely are, and may be words alone."""
_RETURN_LINE = re.compile(r"return\b.{1,200}$")
_C_LINE = re.compile(r".{2,200};$|#include\b.{1,60}")
_CODE_SIGN = re.compile(r"[=<>()\[\]]")

_LONGEST_CALL = 120
"""Characters after which a parenthesis that was opened is not looked for any more."""


class Piece(NamedTuple):
    """`text` as it stands from `start` to `end` of the message."""

    text: str
    start: int
    end: int


def words(text: str) -> list[Piece]:
    """Words and numbers in lower case, without what stands between them."""
    return [Piece(found[0].lower(), found.start(), found.end()) for found in _WORD.finditer(text)]


def code_tokens(text: str) -> list[Piece]:
    """Names, numbers and single signs."""
    return [Piece(found[0], found.start(), found.end()) for found in _CODE_TOKEN.finditer(text)]


def sentences(text: str) -> Iterator[Piece]:
    """Sentences with their closing mark; a full stop inside a number or a name does not end one."""
    for found in _SENTENCE.finditer(text):
        yield Piece(found[0], found.start(), found.end())


def is_question(sentence: str) -> bool:
    return sentence.rstrip().endswith("?")


def squeezed(text: str) -> str:
    """The text without white space, to compare code that is laid out differently."""
    return "".join(text.split())


def code_pieces(text: str) -> list[Piece]:
    """What looks like code: fenced blocks, backticked pieces with a sign of code, lines of code, assignments.

    Blocks of plain data (a sample's input) are left out. In order; no two overlap.
    """
    found: list[Piece] = []
    for match in _FENCED.finditer(text):
        if any(_is_code_line(line.strip()) for line in match[1].split("\n")):
            found.append(_trimmed(text, match.start(1), match.end(1)))
    fenced = [(match.start(), match.end()) for match in _FENCED.finditer(text)]
    found += _outside(fenced, (m for m in map(_backticked, _BACKTICKED.finditer(text)) if m))
    taken = sorted(fenced + [(piece.start, piece.end) for piece in found])
    found += _outside(taken, _code_lines(text))
    return sorted(found, key=lambda piece: piece.start)


def _backticked(match: re.Match[str]) -> Piece | None:
    inside = match[1]
    code = _COMPUTES.search(inside) or _is_code_line(inside.strip())
    return Piece(inside, match.start(1), match.end(1)) if code else None


def _code_lines(text: str) -> Iterator[Piece]:
    """Lines of code in a row as one piece each; of other lines, the assignments in them."""
    run: list[Piece] = []
    for line in re.finditer(r"[^\n]*\n?", text):
        inside = line[0].strip()
        if inside and (_is_code_line(inside) or _WEAK_LINE.match(inside)):
            run.append(_trimmed(text, line.start(), line.end()))
            continue
        if any(_is_code_line(piece.text) for piece in run):
            yield _trimmed(text, run[0].start, run[-1].end)
        run = []
        if "=" in inside:
            for match in _ASSIGNMENT.finditer(line[0]):
                if _COMPUTES.search(match[0].partition("=")[2]):
                    yield _trimmed(text, line.start() + match.start(), line.start() + _closed(line[0], match))


def _closed(line: str, assignment: re.Match[str]) -> int:
    """Where the assignment ends once the parentheses that it opens are closed: they may hold commas."""
    end = assignment.end()
    depth = assignment[0].count("(") - assignment[0].count(")")
    if depth > 0:
        for number in range(end, min(len(line), end + _LONGEST_CALL)):
            depth += (line[number] == "(") - (line[number] == ")")
            if depth == 0:
                return number + 1
    return end


def _is_code_line(line: str) -> bool:
    if not _CODE_SIGN.search(line):
        return False
    if _BLOCK_LINE.match(line) or _RETURN_LINE.match(line) or _C_LINE.match(line):
        return True
    whole = _ASSIGNMENT.match(line)
    return whole is not None and whole.end() >= len(line) - 1 and bool(_COMPUTES.search(line))


def _trimmed(text: str, start: int, end: int) -> Piece:
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    inside = inside.strip()
    return Piece(inside, start, start + len(inside))


def _outside(taken: list[tuple[int, int]], pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces (in order) that touch none of the sorted places."""
    kept: list[Piece] = []
    number = 0
    for piece in pieces:
        while number < len(taken) and taken[number][1] <= piece.start:
            number += 1
        if number == len(taken) or piece.end <= taken[number][0]:
            kept.append(piece)
    return kept


def common_runs(
    message: list[Piece], others: list[list[str]], size: int, shortest: int
) -> Iterator[tuple[int, int]]:
    """Where the message has at least `shortest` pieces in the order in which one of the others has them.

    Compares every run of `size` pieces rather than a winnowed sample of them (Schleimer, Wilkerson, Aiken, SIGMOD
    2003): the texts are short, and a sample would blur where a run begins and ends. Yields indices, end excluded.
    """
    grams = {
        tuple(other[number : number + size]) for other in others for number in range(len(other) - size + 1)
    }
    if not grams:
        return
    texts = [piece.text for piece in message]
    begin: int | None = None
    for number in range(len(texts) - size + 2):
        same = number <= len(texts) - size and tuple(texts[number : number + size]) in grams
        if same and begin is None:
            begin = number
        elif not same and begin is not None:
            if number - 1 + size - begin >= shortest:
                yield begin, number - 1 + size
            begin = None
