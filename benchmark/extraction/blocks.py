"""Fenced blocks of a reply, in Markdown as models write it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.extraction.languages import (
    is_judged,
    is_language,
    is_tag,
    names_language,
    split_information,
    tag_of,
)
from benchmark.extraction.literals import Literals

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_INVISIBLE = "\ufeff\u200b"
_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_QUOTE_MARK = re.compile(r"[ \t]{0,3}>")
_LIST_MARKER = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)+")
_FENCE = re.compile(r"(`{3,}|~{3,}|'{3}|(?:\\`){3})[ \t]*")
_INLINE = re.compile(r"```[ \t]*+([A-Za-z+#0-9]++)[ \t]++([^`]*+)```[ \t]*+$")
_GLUED = re.compile(r"(`{3,})(?!`)([^`]*)$")
_MOST_SKIPPED = 8
"""Maximum fences inside a string or comment; the bound keeps the time linear."""

_DEEPEST = 3


@dataclass(frozen=True)
class CodeBlock:
    """A section of a reply that may be a program.

    `tag` is the name of its language according to the reply, or another first word of the fence, or "".
    Its position is `opening` to `closing` with the fences and `start` to `end` without. `code` is the content with
    plain line ends, without the indentation and the quotation marks of the fence. `form` is "fence",
    "tag", "json", or for running text "text" (a whole stretch) and "lines".
    """

    tag: str
    code: str
    opening: int
    start: int
    end: int
    closing: int
    closed: bool
    indent: int = 0
    form: str = "fence"


@dataclass(frozen=True)
class _Line:
    start: int
    text: str
    after: int


@dataclass(frozen=True)
class _Opening:
    fence: str
    tag: str
    opening: int  # position of the fence
    start: int  # position of the content
    indent: int
    quotes: int  # depth of the block quote


@dataclass(frozen=True)
class _Closing:
    end: int  # position where the content ends
    after: int  # position where the text continues
    opens: bool  # whether the following text is not a closing fence: the next block, or other text


def fenced_blocks(text: str, language: str) -> list[CodeBlock]:
    """Return the nonempty fenced blocks in order.

    A block without a closing fence ends at the next opening fence or with the text. Fences inside strings and
    comments of the block's language (of `language` for untagged blocks) are content. Blocks inside a block of
    another kind, such as a Markdown document in a fence of four, follow that block.
    """
    return list(_scan(text, 0, len(text), language, _DEEPEST))


def _scan(text: str, start: int, end: int, language: str, deepest: int) -> Iterator[CodeBlock]:
    lines = _lines(text, start, end)
    number = 0
    while number < len(lines):
        line = lines[number]
        if block := _inline_block(line):
            yield block
        elif opening := _read_opening(line):
            block, number = _read_block(lines, number, opening, language)
            if block.code.strip():
                yield block
                if deepest and not is_judged(block.tag) and "```" in block.code and not block.indent:
                    yield from _scan(text, block.start, block.end, language, deepest - 1)
            continue
        number += 1


def _lines(text: str, start: int, end: int) -> list[_Line]:
    lines = []
    while start < end:
        found = _LINE.match(text, start, end)
        assert found is not None
        lines.append(_Line(start, found[0].rstrip("\r\n"), found.end()))
        start = found.end()
    return lines


def _inline_block(line: _Line) -> CodeBlock | None:
    """Return the block of a line that contains both of its fences: "```python print(1)```"."""
    found = _INLINE.search(line.text) if "```" in line.text else None
    if not found or line.text[: found.start()].count("`") or not is_judged(tag_of(found[1])):
        return None
    at = line.start
    return CodeBlock(
        tag=tag_of(found[1]),
        code=found[2].strip() + "\n",
        opening=at + found.start(),
        start=at + found.start(2),
        end=at + found.end(2),
        closing=at + found.end(),
        closed=True,
    )


def _read_opening(line: _Line) -> _Opening | None:
    """Return the opening fence of a line. After other words ("Code: ```python") a fence opens a block if it ends
    the line and names a language or follows a colon."""
    prefix = _QUOTE.match(line.text)
    quotes = prefix[0].count(">") if prefix else 0
    at = prefix.end() if prefix else 0
    marker = _LIST_MARKER.match(line.text, at)
    body_at = marker.end() if marker else at
    rest = line.text[body_at:]
    blanks = len(rest) - len(rest.lstrip(" \t" + _INVISIBLE))
    found = _FENCE.match(rest, blanks)
    if found:
        information = rest[found.end() :]
        tag, code_at = split_information(information)
        if "`" in information and found[1][0] != "~":
            found = None
        elif found[1][0] in "'\\" and not is_judged(tag):
            return None
    if not found:
        return _behind_words(line, quotes)
    has_code = code_at < len(information)
    return _Opening(
        fence=found[1],
        tag=tag,
        opening=line.start + body_at + blanks,
        start=line.start + body_at + found.end() + code_at if has_code else line.after,
        indent=body_at - at + blanks,
        quotes=quotes,
    )


def _behind_words(line: _Line, quotes: int) -> _Opening | None:
    found = re.search(r"```[ \t]*([^`]*)$", line.text[-80:])
    if not found:
        return None
    before = line.text[: len(line.text) - len(found[0])].rstrip("` \t*_")
    information = found[1].strip("*_ \t")
    tag = tag_of(information) if information else ""
    if not (is_judged(tag) if information else before.endswith(":")) or not before:
        return None
    if information and split_information(information)[1] < len(information):
        return None
    return _Opening("```", tag, line.start + len(line.text) - len(found[0]), line.after, 0, quotes)


def _read_block(
    lines: Sequence[_Line], number: int, opening: _Opening, language: str
) -> tuple[CodeBlock, int]:
    """Return the block that opens in the line `number`, and the number of the next line to read."""
    literals = Literals(opening.tag if is_language(opening.tag) else language)
    first = number if opening.start < lines[number].after else number + 1
    passed: list[tuple[int, _Closing]] = []  # fences that are apparently inside a string or comment
    for at in range(first, len(lines)):
        line = lines[at]
        if opening.quotes and not _QUOTE.match(line.text):
            closing = _Closing(line.start, line.start, opens=True)
        else:
            body_at = max(
                line.start + _quotation(line.text, opening.quotes), opening.start if at == first else 0
            )
            body = line.text[body_at - line.start :]
            found = _read_closing(body, body_at, line, opening)
            if found is None:
                literals.read(body)
                continue
            closing = found
            if literals.holds(body, closing.end - body_at):
                literals.read(body)
                passed.append((at, closing))
                if len(passed) > _MOST_SKIPPED:
                    break
                continue
        return _block(lines[first : at + 1], opening, closing), at if closing.opens else at + 1
    if passed:
        at, closing = passed[0]
        return _block(lines[first : at + 1], opening, closing), at if closing.opens else at + 1
    end = lines[-1].after
    return _block(lines[first:], opening, _Closing(end, end, opens=True)), len(lines)


def _quotation(text: str, depth: int) -> int:
    """Return the width of the block quote marks at the start of a line, at most `depth` of them."""
    at = 0
    for _ in range(depth):
        mark = _QUOTE_MARK.match(text, at)
        if not mark:
            break
        at = mark.end()
    return at


def _read_closing(body: str, body_at: int, line: _Line, opening: _Opening) -> _Closing | None:
    """Return how the line ends the block, if it does. A fence followed by words that are not a tag closes it; one with
    the tag of a language opens the next block. A fence may follow the last line of the program on the same line."""
    mark = opening.fence[0]
    stripped = body.lstrip(" \t" + _INVISIBLE)
    blanks = len(body) - len(stripped)
    if mark == "\\":
        fenced = stripped.startswith(opening.fence)
        return _Closing(line.start, line.after, opens=False) if fenced else None
    if not stripped.startswith(mark * 3):
        glued = _GLUED.search(body) if mark == "`" else None
        if not glued or len(glued[1]) < len(opening.fence):
            return None
        behind = glued[2].strip()
        after = line.start + len(line.text) - len(glued[2]) if behind else line.after
        return _Closing(body_at + glued.start(), after, opens=False)
    information = stripped.lstrip(mark)
    width = len(stripped) - len(information)
    if width < len(opening.fence) or (mark == "`" and "`" in information):
        return None
    tag, _ = split_information(information)
    if information.strip() and is_tag(tag) and (is_judged(tag) or len(information.split()) == 1):
        return _Closing(line.start, line.start, opens=True)
    after = body_at + blanks + width if information.strip() else line.after
    return _Closing(line.start, after, opens=False)


def _block(lines: Sequence[_Line], opening: _Opening, closing: _Closing) -> CodeBlock:
    """Return the block with its unwrapped program, from the lines of its content."""
    pieces = []
    for line in lines:
        start = max(line.start + _quotation(line.text, opening.quotes), opening.start)
        end = min(line.start + len(line.text), closing.end)
        if start <= end and line.start < closing.end:
            pieces.append(line.text[start - line.start : end - line.start])
    code = "\n".join(without_indentation(pieces, opening.indent)) + "\n"
    if closing.opens:
        code = code.rstrip() + "\n"
    tag, start = opening.tag, opening.start
    word, _, rest = code.partition("\n")
    if not tag and word.strip().isalnum() and names_language(word):
        # The first line contains only the name of the language.
        tag, start, code = tag_of(word), lines[0].after, rest
    return CodeBlock(
        tag=tag,
        code=code if code.strip() else "",
        opening=opening.opening,
        start=start,
        end=max(closing.end, start),
        closing=max(closing.after, opening.start),
        closed=not closing.opens,
        indent=opening.indent,
    )


def without_indentation(lines: list[str], indent: int = 0) -> list[str]:
    """Return the lines without the fence's indentation, if the program has it too, and without shared indentation."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return lines
    if indent and not filled[0][:indent].strip():
        lines = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
        filled = [line for line in lines if line.strip()]
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in filled]
    shared = min(margins, key=len)
    if not all(margin.startswith(shared) for margin in margins):
        return lines
    return [line[len(shared) :] if line.strip() else line.strip(" \t") for line in lines] if shared else lines
