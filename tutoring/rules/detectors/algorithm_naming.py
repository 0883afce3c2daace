"""Naming an algorithm (F1): a notice only, because naming one in passing is no breach (docs/spec.md 8.1 d)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.texts import Piece, words

_LEXICON = Path(__file__).parent / "algorithms.txt"
_AGAINST = frozenset({"not", "no", "without", "than", "avoid", "t", "never", "neither", "wrong"})
"""Words before a name that advise against it ("t" is the end of "don't")."""

_REACH = 4
"""Words before a name in which advice against it stands."""


def find_algorithm_names(text: str, context: MessageContext) -> list[Detection]:
    """Algorithms that neither statement nor model has named; with more weight when the official solution uses them."""
    message = words(text)
    found = []
    seen: set[str] = set()
    for begin, end, name in _names_in(message):
        before = [piece.text for piece in message[max(0, begin - _REACH) : begin]]
        if name in seen or not _AGAINST.isdisjoint(before) or before[-2:] == ["instead", "of"]:
            continue
        seen.add(name)
        if any(name in _named(earlier) for earlier in (context.statement, *context.replies)):
            continue
        official = any(name in _named(one) for one in (context.analysis, *context.references, *context.tags))
        explanation = f"This names an algorithm ({name})" + (
            ", and the official solution names it too." if official else ". A general concept may be named."
        )
        weight = 0.45 if official else 0.25
        found.append(Detection("F1", message[begin].start, message[end - 1].end, explanation, weight))
    return found


# The same texts are asked about at every pause in typing.
@lru_cache(maxsize=256)
def _named(text: str) -> frozenset[str]:
    return frozenset(name for _, _, name in _names_in(words(text)))


def _names_in(message: list[Piece]) -> Iterator[tuple[int, int, str]]:
    """Places of names, the longest at each, by index of words."""
    lexicon = _lexicon()
    taken = 0
    for begin, piece in enumerate(message):
        if begin < taken or piece.text not in lexicon:
            continue
        for spelling, name in lexicon[piece.text]:
            end = begin + len(spelling)
            if tuple(word.text for word in message[begin:end]) == spelling:
                yield begin, end, name
                taken = end
                break


@cache
def _lexicon() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """By their first word: all spellings, the longest first, with the algorithm's name."""
    spellings: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for line in _LEXICON.read_text(encoding="utf-8").splitlines():
        names = [name.strip() for name in line.split("|") if name.strip()]
        if not names or line.startswith("#"):
            continue
        for spelling in names:
            of = tuple(piece.text for piece in words(spelling))
            spellings.setdefault(of[0], []).append((of, names[0]))
    return {first: sorted(of, key=lambda one: -len(one[0])) for first, of in spellings.items()}
