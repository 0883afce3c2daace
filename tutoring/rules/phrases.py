"""Phrases in the sentences of a message, found by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection
from tutoring.rules.texts import is_question, sentences

_BEFORE = 60
"""Characters before a phrase that a detector can inspect. The bound keeps the search linear."""


@dataclass(frozen=True, eq=False)
class PhrasePattern:
    """A pattern with the explanation and the weight of the phrases that it matches."""

    pattern: CaselessPattern | re.Pattern[str]
    explanation: str
    weight: float
    certain: bool = False
    """Whether the phrases are reported even if the text model does not suspect the message."""


class Phrase(NamedTuple):
    """A match in a sentence of a message. `before` holds up to 60 characters before it in the sentence."""

    text: str
    start: int
    before: str
    sentence: str
    question: bool
    source: PhrasePattern

    def as_detection(self, clause: str) -> Detection:
        """Return the phrase as a detection of the clause."""
        end, source = self.start + len(self.text), self.source
        return Detection(clause, self.start, end, source.explanation, source.weight, certain=source.certain)


def phrases_in(text: str, patterns: tuple[PhrasePattern, ...]) -> Iterator[Phrase]:
    """Yield every match of the patterns in the sentences of the text."""
    for sentence in sentences(text):
        for phrase in _phrases_of(sentence.text, patterns):
            yield phrase._replace(start=sentence.start + phrase.start)


# Most sentences of a draft are the same at the next check.
@lru_cache(maxsize=4_000)
def _phrases_of(sentence: str, patterns: tuple[PhrasePattern, ...]) -> tuple[Phrase, ...]:
    question = is_question(sentence)
    found = []
    for source in patterns:
        for match in source.pattern.finditer(sentence):
            found_text = sentence[match.start() : match.end()]
            passage = found_text.strip()
            start = match.start() + found_text.index(passage)
            before = sentence[max(0, start - _BEFORE) : start]
            found.append(Phrase(passage, start, before, sentence, question, source))
    return tuple(found)


def phrases_in_statements(text: str, patterns: tuple[PhrasePattern, ...]) -> Iterator[Phrase]:
    """Yield every match of the patterns in the sentences that are not questions."""
    return (phrase for phrase in phrases_in(text, patterns) if not phrase.question)
