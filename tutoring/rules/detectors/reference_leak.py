"""Detector of words or code of the official analysis or a reference solution (F1, F2; docs/spec.md 8.1 b)."""

from __future__ import annotations

import keyword
from functools import lru_cache

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.texts import TextSpan, code_spans, code_tokens, common_runs, words

_COMPARED_WORDS, _SHORTEST_RUN = 5, 8
"""Words per compared n-gram, and the shortest run of words that is not a coincidence."""

_LONG_WORDS = 4
"""Words of more than three letters that a run must contain."""

_COMPARED_TOKENS, _SHORTEST_CODE_RUN = 10, 14
"""Tokens per compared n-gram, and the shortest run of tokens, for code with normalized names."""

_KEPT_NAMES = frozenset(keyword.kwlist) | {
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
    """Return runs of words and code of the same shape that the statement and the model's replies do not contain."""
    sources = (context.analysis, *context.references)
    if not any(sources):
        return []
    known = (context.statement, *context.replies)
    return _shared_words(text, sources, known) + _shared_code(text, sources, known)


def _shared_words(text: str, sources: tuple[str, ...], known: tuple[str, ...]) -> list[Detection]:
    message = words(text)
    found = []
    seen = None
    for begin, end in common_runs(
        message, [_words_of(source) for source in sources], _COMPARED_WORDS, _SHORTEST_RUN
    ):
        run = message[begin:end]
        if sum(len(span.text) > 3 and not span.text.isdigit() for span in run) < _LONG_WORDS:
            continue
        if seen is None:
            seen = [[span.text for span in words(one)] for one in known]
        if any(
            last - first > len(run) // 2
            for first, last in common_runs(run, seen, _COMPARED_WORDS, _COMPARED_WORDS)
        ):
            continue
        explanation = f"These {len(run)} words are in the official solution in the same order."
        weight = min(0.95, 0.5 + 0.03 * (len(run) - _SHORTEST_RUN))
        found.append(Detection("F1", run[0].start, run[-1].end, explanation, round(weight, 2), certain=True))
    return found


def _shared_code(text: str, sources: tuple[str, ...], known: tuple[str, ...]) -> list[Detection]:
    found = []
    for span in code_spans(text):
        tokens = _normalized_names(code_tokens(span.text))
        runs = list(
            common_runs(
                tokens, [_code_shape(source) for source in sources], _COMPARED_TOKENS, _SHORTEST_CODE_RUN
            )
        )
        if not runs:
            continue
        own = [_code_shape(one) for one in known]
        if next(common_runs(tokens, own, _COMPARED_TOKENS, _SHORTEST_CODE_RUN), None):
            continue
        begin, end = max(runs, key=lambda run: run[1] - run[0])
        explanation = "This code has the shape of a piece of the official solution, whatever its names."
        start, stop = span.start + tokens[begin].start, span.start + tokens[end - 1].end
        found.append(Detection("F2", start, stop, explanation, 0.9, certain=True))
    return found


def _normalized_names(tokens: list[TextSpan]) -> list[TextSpan]:
    """Return the tokens with every name replaced by "name", except names of the language."""
    return [
        token._replace(text="name") if token.text.isidentifier() and token.text not in _KEPT_NAMES else token
        for token in tokens
    ]


# A draft check runs at every pause in typing and reads the same problem each time.
@lru_cache(maxsize=256)
def _words_of(source: str) -> list[str]:
    return [span.text for span in words(source)]


@lru_cache(maxsize=256)
def _code_shape(source: str) -> list[str]:
    return [span.text for span in _normalized_names(code_tokens(source))]


DETECTOR = Detector(
    name="reference-leak",
    version=1,
    clauses=("F1", "F2"),
    finds="eight words in a row, or code of the same shape, of the official analysis or a reference solution",
    ignores="text that the statement or the model contains",
    find=find_reference_leaks,
)
