"""Phrases in the sentences of a message, found by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tutoring.rules.detection import Detection
from tutoring.rules.texts import is_question, sentences

_BEFORE = 60
"""Characters before a phrase that a detector can inspect. The bound keeps the search linear."""


class PhrasePattern(NamedTuple):
    """A pattern with the explanation and the weight of the phrases that it matches."""

    pattern: re.Pattern[str]
    explanation: str
    weight: float
    certain: bool = False
    """Whether the phrases are reported even if the text model does not suspect the message."""


class Phrase(NamedTuple):
    """A match in a sentence of a message. `before` holds up to 60 characters of the sentence before it."""

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


def phrases_in(text: str, patterns: Sequence[PhrasePattern]) -> Iterator[Phrase]:
    """Yield every match of the patterns in the sentences of the text."""
    for sentence in sentences(text):
        question = is_question(sentence.text)
        for source in patterns:
            for match in source.pattern.finditer(sentence.text):
                passage = match[0].strip()
                start = match.start() + match[0].index(passage)
                before = sentence.text[max(0, start - _BEFORE) : start]
                yield Phrase(passage, sentence.start + start, before, sentence.text, question, source)


def phrases_in_statements(text: str, patterns: Sequence[PhrasePattern]) -> Iterator[Phrase]:
    """Yield every match of the patterns in the sentences that are no questions."""
    return (phrase for phrase in phrases_in(text, patterns) if not phrase.question)
