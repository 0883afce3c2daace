"""Naming an algorithm (F1): a notice only, because naming one in passing is no breach (METHODS 8.1 d)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.texts import Piece, words

_LEXICON = Path(__file__).parent / "algorithms.txt"
_AGAINST = frozenset({"not", "no", "without", "than", "instead", "avoid", "t", "never", "neither", "wrong"})
"""Words before a name that advise against it ("t" is the end of "don't")."""

_REACH = 4
"""Words before a name in which advice against it stands."""


def find_algorithm_names(text: str, context: MessageContext) -> list[Detection]:
    """Algorithms that neither statement nor model has named; with more weight when the official solution uses them."""
    message = words(text)
    lexicon, longest = _lexicon()
    tagged = {" ".join(piece.text for piece in words(tag)) for tag in context.tags}
    found = []
    seen: set[str] = set()
    earlier: set[str] | None = None
    official: set[str] | None = None
    for begin, end, name in _names_in(message, lexicon, longest):
        if name in seen or any(piece.text in _AGAINST for piece in message[max(0, begin - _REACH) : begin]):
            continue
        seen.add(name)
        if earlier is None or official is None:
            earlier = _named(" ".join((context.statement, *context.replies)))
            official = _named(" ".join((context.analysis, *context.references, *tagged)))
        if name in earlier:
            continue
        used = name in official
        explanation = f"This names an algorithm ({name})" + (
            ", and the official solution names it too." if used else ". A general concept may be named."
        )
        weight = 0.45 if used else 0.25
        found.append(Detection("F1", message[begin].start, message[end - 1].end, explanation, weight))
    return found


def _named(text: str) -> set[str]:
    lexicon, longest = _lexicon()
    return {name for _, _, name in _names_in(words(text), lexicon, longest)}


def _names_in(
    message: list[Piece], lexicon: dict[tuple[str, ...], str], longest: int
) -> list[tuple[int, int, str]]:
    """Places of the longest names, by index of words."""
    found = []
    begin = 0
    while begin < len(message):
        for size in range(min(longest, len(message) - begin), 0, -1):
            name = lexicon.get(tuple(piece.text for piece in message[begin : begin + size]))
            if name is not None:
                found.append((begin, begin + size, name))
                begin += size
                break
        else:
            begin += 1
    return found


@cache
def _lexicon() -> tuple[dict[tuple[str, ...], str], int]:
    """Words of every spelling with the algorithm's name, and the length of the longest."""
    spellings: dict[tuple[str, ...], str] = {}
    for line in _LEXICON.read_text(encoding="utf-8").splitlines():
        names = [name.strip() for name in line.split("|") if name.strip()]
        if not names or line.startswith("#"):
            continue
        for spelling in names:
            spellings[tuple(piece.text for piece in words(spelling))] = names[0]
    return spellings, max(map(len, spellings))
