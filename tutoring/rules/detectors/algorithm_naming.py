"""Detector of named algorithms (F1): a notice only, because a passing mention is no breach (docs/spec.md 8.1 d)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.texts import TextSpan, words

_LEXICON = Path(__file__).parent / "algorithms.txt"
_NEGATIONS = frozenset({"not", "no", "without", "than", "avoid", "t", "never", "neither", "wrong"})
"""Words before a name that advise against it. "t" is the end of "don't"."""

_NEGATION_REACH = 4
"""Number of words before a name that are searched for a negation."""


def find_algorithm_names(text: str, context: MessageContext) -> list[Detection]:
    """Return the algorithms that neither the statement nor the model has named.

    The weight is higher if the official solution names the algorithm too.
    """
    message = words(text)
    found = []
    seen: set[str] = set()
    for begin, end, name in _algorithm_names(message):
        before = [span.text for span in message[max(0, begin - _NEGATION_REACH) : begin]]
        if name in seen or not _NEGATIONS.isdisjoint(before) or before[-2:] == ["instead", "of"]:
            continue
        seen.add(name)
        if any(name in _algorithms_in(earlier) for earlier in (context.statement, *context.replies)):
            continue
        official = any(
            name in _algorithms_in(one) for one in (context.analysis, *context.references, *context.tags)
        )
        explanation = f"This names an algorithm ({name})" + (
            ", and the official solution names it too." if official else ". A general concept may be named."
        )
        weight = 0.45 if official else 0.25
        found.append(Detection("F1", message[begin].start, message[end - 1].end, explanation, weight))
    return found


# A draft check runs at every pause in typing and reads the same context each time.
@lru_cache(maxsize=256)
def _algorithms_in(text: str) -> frozenset[str]:
    return frozenset(name for _, _, name in _algorithm_names(words(text)))


def _algorithm_names(message: list[TextSpan]) -> Iterator[tuple[int, int, str]]:
    """Yield the longest algorithm name at each position: index of the first word, index after the last, name."""
    lexicon = _lexicon()
    taken = 0
    for begin, span in enumerate(message):
        if begin < taken or span.text not in lexicon:
            continue
        for spelling, name in lexicon[span.text]:
            end = begin + len(spelling)
            if tuple(word.text for word in message[begin:end]) == spelling:
                yield begin, end, name
                taken = end
                break


@cache
def _lexicon() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Return the spellings and the algorithm's name by first word, longest spelling first."""
    spellings: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for line in _LEXICON.read_text(encoding="utf-8").splitlines():
        names = [name.strip() for name in line.split("|") if name.strip()]
        if not names or line.startswith("#"):
            continue
        for spelling in names:
            spelled = tuple(span.text for span in words(spelling))
            spellings.setdefault(spelled[0], []).append((spelled, names[0]))
    return {first: sorted(entries, key=lambda entry: -len(entry[0])) for first, entries in spellings.items()}


DETECTOR = Detector(
    name="algorithm-naming",
    version=1,
    clauses=("F1",),
    finds="names of algorithms (always a notice)",
    ignores="names that the statement or the model used first; advice against one",
    find=find_algorithm_names,
)
