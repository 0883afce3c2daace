"""Words, sentences and code in a message, each with its position. Every function runs in linear time on any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_WORD = re.compile(r"\w+")
_CODE_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|\w+|[^\w\s]")
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?=\S)[^.!?。！？\n]*)*[.!?。！？]*")
_FENCED = re.compile(r"(?:```|~~~)[^\n]{0,40}\n(.{1,100000}?)(?:```|~~~|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`([^`\n]{1,300})`")
_ASSIGNMENT = re.compile(
    r"[^\W\d][\w.]{0,60}(?:\[[^\]\n]{1,60}\]){0,2}[ ]?(?:[-+*/%&|^]|//|<<|>>)?=(?!=)[ ]?(?:[^\n.;,`!?=]|\.\w){1,120}"
)
_EXPRESSION = re.compile(r"[\w)\]] ?(?:[-+*/%<>(\[]|//) ?[\w(]")
_BLOCK_LINE = re.compile(r"(?:for|while|if|elif|else if|def|class)\b.{0,200}[:{]$")
_WEAK_LINE = re.compile(
    r"(?:for|while|if|elif|else)\b.{0,200}:$|[\w.]{1,60}\(.{0,200}\)$|(?:else|try):$|[{}]$"
)
"""Lines that count as code only next to lines that match a stricter pattern; alone they may be prose."""
_RETURN_LINE = re.compile(r"return\b.{1,200}$")
_C_LINE = re.compile(r".{2,200};$|#include\b.{1,60}")
_CODE_SYMBOL = re.compile(r"[=<>()\[\]]")

_LONGEST_CALL = 120
"""Number of characters that are searched for the closing parenthesis of a call."""


class TextSpan(NamedTuple):
    """Characters `start` to `end` (excluded) of a message. `text` may be normalized, for example to lower case."""

    text: str
    start: int
    end: int


def words(text: str) -> list[TextSpan]:
    """Return the words and numbers of the text in lower case."""
    return [TextSpan(found[0].lower(), found.start(), found.end()) for found in _WORD.finditer(text)]


def code_tokens(text: str) -> list[TextSpan]:
    """Return the names, numbers and single symbols of the text."""
    return [TextSpan(found[0], found.start(), found.end()) for found in _CODE_TOKEN.finditer(text)]


def sentences(text: str) -> Iterator[TextSpan]:
    """Yield the sentences with their end marks. A full stop inside a number or a name does not end a sentence."""
    for found in _SENTENCE.finditer(text):
        yield TextSpan(found[0], found.start(), found.end())


def is_question(sentence: str) -> bool:
    """Return whether the sentence ends with a question mark."""
    return sentence.rstrip().endswith(("?", "？"))


def without_whitespace(text: str) -> str:
    """Return the text without white space, for comparing code with different layouts."""
    return "".join(text.split())


def code_spans(text: str) -> list[TextSpan]:
    """Return the passages that look like code: fenced blocks, inline code, lines of code and assignments.

    Fenced blocks of plain data, such as a sample's input, are excluded. The spans are in order and do not overlap.
    """
    found: list[TextSpan] = []
    for match in _FENCED.finditer(text):
        if any(_is_code_line(line.strip()) for line in match[1].split("\n")):
            found.append(_trimmed_span(text, match.start(1), match.end(1)))
    fenced = [(match.start(), match.end()) for match in _FENCED.finditer(text)]
    found += _not_overlapping(fenced, (m for m in map(_inline_code, _INLINE_CODE.finditer(text)) if m))
    taken = sorted(fenced + [(span.start, span.end) for span in found])
    found += _not_overlapping(taken, _code_lines(text))
    return sorted(found, key=lambda span: span.start)


def _inline_code(match: re.Match[str]) -> TextSpan | None:
    inside = match[1]
    code = _EXPRESSION.search(inside) or _is_code_line(inside.strip())
    return TextSpan(inside, match.start(1), match.end(1)) if code else None


def _code_lines(text: str) -> Iterator[TextSpan]:
    """Yield consecutive lines of code as one span each, and the assignments within other lines."""
    run: list[TextSpan] = []
    for line in re.finditer(r"[^\n]*\n?", text):
        inside = line[0].strip()
        if inside and (_is_code_line(inside) or _WEAK_LINE.match(inside)):
            run.append(_trimmed_span(text, line.start(), line.end()))
            continue
        if any(_is_code_line(span.text) for span in run):
            yield _trimmed_span(text, run[0].start, run[-1].end)
        run = []
        if "=" in inside:
            for match in _ASSIGNMENT.finditer(line[0]):
                if _EXPRESSION.search(match[0].partition("=")[2]):
                    yield _trimmed_span(
                        text, line.start() + match.start(), line.start() + _assignment_end(line[0], match)
                    )


def _assignment_end(line: str, assignment: re.Match[str]) -> int:
    """Return the end of the assignment, extended to the closing parenthesis of a call that it opens."""
    end = assignment.end()
    depth = assignment[0].count("(") - assignment[0].count(")")
    if depth > 0:
        for number in range(end, min(len(line), end + _LONGEST_CALL)):
            depth += (line[number] == "(") - (line[number] == ")")
            if depth == 0:
                return number + 1
    return end


def _is_code_line(line: str) -> bool:
    if not _CODE_SYMBOL.search(line):
        return False
    if _BLOCK_LINE.match(line) or _RETURN_LINE.match(line) or _C_LINE.match(line):
        return True
    whole = _ASSIGNMENT.match(line)
    return whole is not None and whole.end() >= len(line) - 1 and bool(_EXPRESSION.search(line))


def _trimmed_span(text: str, start: int, end: int) -> TextSpan:
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    inside = inside.strip()
    return TextSpan(inside, start, start + len(inside))


def _not_overlapping(taken: list[tuple[int, int]], spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Return the spans that overlap none of the `taken` intervals. Both must be sorted."""
    outside: list[TextSpan] = []
    number = 0
    for span in spans:
        while number < len(taken) and taken[number][1] <= span.start:
            number += 1
        if number == len(taken) or span.end <= taken[number][0]:
            outside.append(span)
    return outside


def common_runs(
    message: list[TextSpan], others: list[list[str]], size: int, shortest: int
) -> Iterator[tuple[int, int]]:
    """Yield the runs of at least `shortest` consecutive tokens that the message shares with one of the others.

    Every run is a pair of indices into `message`, end excluded. The function compares all `size`-grams instead of a
    winnowed sample (Schleimer, Wilkerson, Aiken, SIGMOD 2003): the texts are short, and a sample would make the ends of
    a run inexact.
    """
    grams = {
        tuple(other[number : number + size]) for other in others for number in range(len(other) - size + 1)
    }
    if not grams:
        return
    texts = [span.text for span in message]
    begin: int | None = None
    for number in range(len(texts) - size + 2):
        same = number <= len(texts) - size and tuple(texts[number : number + size]) in grams
        if same and begin is None:
            begin = number
        elif not same and begin is not None:
            if number - 1 + size - begin >= shortest:
                yield begin, number - 1 + size
            begin = None
