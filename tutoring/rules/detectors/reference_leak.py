"""Words or code of the official analysis or a reference solution (F1, F2; docs/spec.md 8.1 b)."""

from __future__ import annotations

import keyword
from functools import lru_cache

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.texts import Piece, code_pieces, code_tokens, common_runs, words

_WORDS, _SHORTEST = 5, 8
"""Words compared at a time, and the shortest run in the same order that is no coincidence."""

_CONTENT = 4
"""Words of more than three letters that a run must hold."""

_CODE, _SHORTEST_CODE = 10, 14
"""The same for code whose names are left out of account."""

_NAMES_KEPT = frozenset(keyword.kwlist) | {
    "range",
    "len",
    "max",
    "min",
    "sorted",
    "sum",
    "abs",
    "input",
    "int",
}


def find_reference_leaks(text: str, context: MessageContext) -> list[Detection]:
    """Runs of words, and pieces of code of the same shape, that statement and the model's replies do not hold."""
    sources = (context.analysis, *context.references)
    if not any(sources):
        return []
    known = (context.statement, *context.replies)
    return _words_in_common(text, sources, known) + _code_in_common(text, sources, known)


def _words_in_common(text: str, sources: tuple[str, ...], known: tuple[str, ...]) -> list[Detection]:
    message = words(text)
    found = []
    seen = None
    for begin, end in common_runs(message, [_words_of(source) for source in sources], _WORDS, _SHORTEST):
        run = message[begin:end]
        if sum(len(piece.text) > 3 and not piece.text.isdigit() for piece in run) < _CONTENT:
            continue
        if seen is None:
            seen = [[piece.text for piece in words(one)] for one in known]
        if any(last - first > len(run) // 2 for first, last in common_runs(run, seen, _WORDS, _WORDS)):
            continue
        explanation = f"These {len(run)} words stand in the official solution in the same order."
        weight = min(0.95, 0.5 + 0.03 * (len(run) - _SHORTEST))
        found.append(Detection("F1", run[0].start, run[-1].end, explanation, round(weight, 2)))
    return found


def _code_in_common(text: str, sources: tuple[str, ...], known: tuple[str, ...]) -> list[Detection]:
    found = []
    for piece in code_pieces(text):
        shape = _shape(code_tokens(piece.text))
        runs = list(common_runs(shape, [_shape_of(source) for source in sources], _CODE, _SHORTEST_CODE))
        if not runs:
            continue
        own = [_shape_of(one) for one in known]
        if next(common_runs(shape, own, _CODE, _SHORTEST_CODE), None):
            continue
        begin, end = max(runs, key=lambda run: run[1] - run[0])
        explanation = "This code has the shape of a piece of the official solution, whatever its names."
        start, stop = piece.start + shape[begin].start, piece.start + shape[end - 1].end
        found.append(Detection("F2", start, stop, explanation, 0.9))
    return found


def _shape(tokens: list[Piece]) -> list[Piece]:
    """The tokens with all names alike, except those of the language."""
    return [
        token._replace(text="name") if token.text.isidentifier() and token.text not in _NAMES_KEPT else token
        for token in tokens
    ]


# The same problem is asked about at every pause in typing.
@lru_cache(maxsize=256)
def _words_of(source: str) -> list[str]:
    return [piece.text for piece in words(source)]


@lru_cache(maxsize=256)
def _shape_of(source: str) -> list[str]:
    return [piece.text for piece in _shape(code_tokens(source))]
