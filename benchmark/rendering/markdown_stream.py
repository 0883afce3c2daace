"""Rendering of Markdown that arrives in pieces: a block is rendered once, as soon as later text cannot change it.

The text is cut only where CommonMark ends a block whatever follows, so that the blocks, one after the other, are the
rendering of the whole text. (Exception: a link definition applies to its own block only.) The work is linear in the
length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from benchmark.rendering.markdown import render_piece
from benchmark.rendering.outline import Outline

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_LONGEST_MARKER = 12
"""Characters of a line that show whether it begins an item of a list at the left margin."""

_GROWTH = 1.25
"""An unfinished list is rendered again after it has grown by this factor, which keeps the work linear."""


@dataclass(frozen=True)
class RenderedBlocks:
    """Sanitised HTML of the blocks from number `first` on. It replaces the blocks that were there before.

    The blocks cover the first `length` UTF-16 code units of the text, which is how browsers count characters.
    """

    first: int
    html: tuple[str, ...]
    length: int


@dataclass
class MarkdownStream:
    """A Markdown text that arrives in pieces. `feed` is cheap; `render` renders what has ended since the last call."""

    _outline: Outline = field(default_factory=Outline)
    """Headings of the ended blocks that are rendered."""
    _finished: list[str] = field(default_factory=list)
    """Sources of blocks that have ended and are not rendered."""
    _list: str = ""
    """Source of the complete items of an unfinished list that has grown enough to be rendered."""
    _rendered: int = 0
    """Number of ended blocks that are rendered."""
    _length: int = 0
    """UTF-16 code units of the ended blocks that are rendered."""
    _lines: list[str] = field(default_factory=list)
    """Complete lines of the block that has not ended."""
    _size: int = 0
    """Characters of these lines."""
    _list_size: int = 0
    """Characters of the list's items that are rendered."""
    _line: str = ""
    """The beginning of the line that is arriving."""
    _is_list: bool = False
    """Whether the block is a list or indented code, which continues after blank lines."""
    _after_blank: bool = False
    _seen: bool = False
    """Whether `_begin` has handled the line that is arriving."""
    _fence: str = ""
    """The fence that is open; empty outside programs."""
    _is_program: bool = False
    """Whether the block consists of a fenced program, so that it ends with its closing fence."""

    def feed(self, text: str) -> bool:
        """Take the next piece of the text; return whether there is something to render."""
        *whole, rest = text.split("\n")
        for line in whole:
            self._take(self._line + line)
            self._line = ""
        self._line += rest
        if self._is_list and not self._fence and not self._seen and self._line:
            first = self._line[:_LONGEST_MARKER]
            if len(first) == _LONGEST_MARKER or not re.fullmatch(r"(?:[-+*]|\d{1,9}[.)]?)", first):
                self._begin(first)
        return bool(self._finished or self._list)

    def render(self) -> RenderedBlocks | None:
        """Return the blocks that have ended or grown since the last call; None if there are none."""
        finished, self._finished = self._finished, []
        items, self._list = self._list, ""
        first = self._rendered
        html = [render_piece(source, self._outline) for source in finished if source.strip()]
        self._rendered += len(html)
        self._length += sum(map(_code_units, finished))
        if items:
            html.append(render_piece(items, self._outline.copy()))
        if not html:
            return None
        return RenderedBlocks(first, tuple(html), self._length + _code_units(items))

    def _take(self, line: str) -> None:
        """Add a complete line to its block, and end the blocks that it ends."""
        if self._fence:
            self._add(line)
            self._fence = _fence_after(line, self._fence)
            if not self._fence and self._is_program:
                self._end()
            return
        if not line.strip():
            self._add(line)
            self._after_blank = True
            if not self._is_list:
                self._end()
            return
        if not self._seen:
            self._begin(line)
        opening = _FENCE.match(line)
        if opening:
            if not self._is_list or not line[0].isspace():
                self._end()
                self._is_program = True
            self._fence = opening[1]
        elif _ITEM.match(line) or (not self._lines and line.startswith(("    ", "\t"))):
            self._is_list = True
        self._add(line)
        self._after_blank = False

    def _begin(self, beginning: str) -> None:
        """End the list if a line with this beginning ends it; offer its items to `render` if the line is a new item."""
        self._seen = True
        if not self._is_list or beginning[0].isspace():
            return
        if _ITEM.match(beginning):
            if self._size >= _GROWTH * self._list_size and self._size:
                self._list, self._list_size = "\n".join((*self._lines, "")), self._size
        elif self._after_blank:
            self._end()

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        self._seen = False

    def _end(self) -> None:
        if self._lines:
            self._finished.append("\n".join((*self._lines, "")))
        self._lines, self._size, self._list, self._list_size = [], 0, "", 0
        self._is_list = self._is_program = self._after_blank = False


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after a line within it: the same, or none."""
    closing = re.fullmatch(r" {0,3}(`{3,}|~{3,})\s*", line)
    return "" if closing and closing[1].startswith(fence) else fence


def _code_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
