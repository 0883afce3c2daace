"""Division of plain USACO statements and analyses into blocks: prose, programs, drawings, samples.

The text comes from web pages without their structure: paragraphs are wrapped at about 80 characters, programs
and ASCII drawings are not marked. Every line of the source is in exactly one block.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmark.rendering.mathematics import formula_at
from benchmark.rendering.usaco_samples import SECTION, find_samples
from benchmark.text.program_lines import find_programs


class BlockKind(StrEnum):
    """The kind of a block of lines."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    LITERAL = "literal"
    SAMPLE = "sample"
    PROGRAM = "program"


@dataclass(frozen=True)
class StatementBlock:
    """Consecutive lines of one kind; a heading's or an item's mark is part of `text`."""

    kind: BlockKind
    text: str


_ITEM = re.compile(r"[ \t]{0,3}[*•-] +(?=\S)")
_NUMBERED = re.compile(r"[ \t]{0,3}(?:\d{1,2}[.)]|\([a-z0-9]{1,3}\)) +(?=\S)")
_WORD = re.compile(r"[A-Za-z][a-z']{2,}|\b[aAI]\b")
_GAP = re.compile(r"\S(?: {3,}|\t)\S")
BYLINE = re.compile(r"\(?(?:Analysis )?by [^.$]{3,80}\)?", re.IGNORECASE)
"""A line that names the author of an analysis."""

_WRAP = 76
"""Columns at which the source wraps. A sentence whose line ends earlier ends a paragraph."""


def split_blocks(text: str) -> list[StatementBlock]:
    """Return the blocks of the text in order, without the blank lines between blocks."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").expandtabs(4)
    lines = text.split("\n")
    inside_formula = _formula_continuations(text)
    kinds: list[BlockKind | None] = [None] * len(lines)
    samples = find_samples(text)
    for sample in samples:
        for region in (sample.input_lines, sample.output_lines):
            for number in region:
                kinds[number] = BlockKind.SAMPLE
    for number, line in enumerate(lines):
        if kinds[number] is None and SECTION.match(line):
            kinds[number] = BlockKind.HEADING
    taken = [kind is not None or number in inside_formula for number, kind in enumerate(kinds)]
    for program in find_programs(lines, taken):
        for number in program:
            kinds[number] = BlockKind.PROGRAM
    return list(_blocks(lines, kinds, inside_formula))


def _formula_continuations(text: str) -> set[int]:
    """Return the numbers of the lines that begin inside a formula."""
    numbers: set[int] = set()
    position = 0
    line = 0
    while (opening := text.find("$", position)) >= 0:
        line += text.count("\n", position, opening)
        found = formula_at(text, opening)
        end = found[2] if found else opening + 1
        inside = text.count("\n", opening, end)
        numbers.update(range(line + 1, line + inside + 1))
        line += inside
        position = end
    return numbers


def _blocks(
    lines: Sequence[str], kinds: Sequence[BlockKind | None], inside_formula: set[int]
) -> Iterator[StatementBlock]:
    number = 0
    while number < len(lines):
        kind = kinds[number]
        end = number + 1
        if kind in (BlockKind.PROGRAM, BlockKind.SAMPLE):
            while end < len(lines) and kinds[end] is kind:
                end += 1
            yield StatementBlock(kind, "\n".join(line.rstrip() for line in lines[number:end]))
        elif kind is BlockKind.HEADING:
            yield StatementBlock(kind, lines[number].rstrip())
        elif lines[number].strip():
            while end < len(lines) and kinds[end] is None and lines[end].strip():
                end += 1
            yield from _prose_blocks(lines[number:end], {n - number for n in inside_formula})
        number = end


def _prose_blocks(lines: Sequence[str], inside_formula: set[int]) -> Iterator[StatementBlock]:
    """Yield the blocks of lines without blank lines: a drawing, or paragraphs and items."""
    if _is_literal(lines):
        yield StatementBlock(BlockKind.LITERAL, "\n".join(line.rstrip() for line in lines))
        return
    start = 0
    for number in range(1, len(lines) + 1):
        ends = number == len(lines) or (
            number not in inside_formula
            and (_begins_item(lines[number]) or _ends_paragraph(lines[number - 1], lines[number]))
        )
        if ends:
            part = [line.strip() for line in lines[start:number]]
            kind = BlockKind.ITEM if _ITEM.match(lines[start]) else BlockKind.PARAGRAPH
            yield StatementBlock(kind, "\n".join(part))
            start = number


def _begins_item(line: str) -> bool:
    return bool(_ITEM.match(line) or _NUMBERED.match(line))


def _ends_paragraph(line: str, following: str) -> bool:
    """Return whether the line ends although the next word would fit on it."""
    line = line.rstrip()
    if BYLINE.fullmatch(line.strip()) or line.endswith("**"):
        return True
    if following.startswith("  "):
        return False  # an indented line continues its item
    first = following.split(maxsplit=1)[0] if following.strip() else ""
    return line.endswith((".", ":", "?", "!", ".)", '."')) and len(line) + 1 + len(first) <= _WRAP


def _is_literal(lines: Sequence[str]) -> bool:
    """Return whether the layout of the lines is meaningful: a drawing, a table or data."""
    text = "\n".join(lines)
    if "$" in text or any(_ITEM.match(line) and _WORD.search(line) for line in lines):
        return False
    tokens = text.split()
    words = [token for token in tokens if _WORD.match(token)]
    if len(lines) == 1:
        stripped = text.strip()
        if stripped.endswith(";"):
            return len(words) * 2 <= len(tokens)
        return (
            len(words) * 3 < len(tokens) and not stripped.isalpha() and not stripped.endswith((".", ":", "?"))
        )
    if max(len(line.rstrip()) for line in lines) > _WRAP + 14:
        return False
    gaps = sum(bool(_GAP.search(line)) for line in lines)
    return len(words) * 5 < len(tokens) * 2 or gaps * 2 >= len(lines)
