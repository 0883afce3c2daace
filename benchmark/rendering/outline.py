"""The headings of rendered documents, which stand below the headings of the page around them."""

import re
from copy import copy

_HEADING = re.compile(r"<(/?)h([1-6])>")

_PAGE_LEVELS = 2
"""The title of a page and the heading of a section."""

_DEEPEST = 6


class Outline:
    """Levels of the headings of one document, which may arrive in pieces.

    The first heading is of level 3, and no heading is more than one level deeper than the heading before it.
    """

    def __init__(self) -> None:
        self._open: tuple[int, ...] = ()
        """The author's levels of the last heading and of the headings that it belongs to."""

    def copy(self) -> "Outline":
        """Return an outline that continues from the same heading."""
        return copy(self)

    def renumbered(self, markup: str) -> str:
        """Return the sanitised HTML of the next piece with the levels of its headings replaced."""
        return _HEADING.sub(self._renumber, markup)

    def _renumber(self, tag: re.Match[str]) -> str:
        closing, level = tag[1], int(tag[2])
        if not closing:
            self._open = (*(one for one in self._open if one < level), level)
        return f"<{closing}h{min(_PAGE_LEVELS + len(self._open), _DEEPEST)}>"
