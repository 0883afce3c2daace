"""Detector that compares a message with labelled messages (F1 to F5)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from tutoring.rules.detection import BLOCKING, Detection, Detector, MessageContext, findings
from tutoring.rules.detectors import (
    algorithm_naming,
    approach_giving,
    code_pointing,
    explanation,
    hidden_data,
    reference_leak,
    replacement_code,
    verdict_leak,
)
from tutoring.rules.reading import FENCE, Unit, read_units
from tutoring.rules.text_model import Floats, Found, Judgement, OutdatedModelError, TextModel, load
from tutoring.rules.texts import TextSpan, common_runs
from tutoring.rules.vocabulary import tokens

logger = logging.getLogger(__name__)

SHIPPED = Path(__file__).parent.parent / "text_model.npz"
"""The model that is trained on the labelled drafts of the repository."""

FIRST_OWN_VERSION = 1001
"""Versions from here on belong to models that a site has trained itself."""

_LIKELIEST_WEIGHT = 0.6
"""Weight of the likeliest clause: a warning, which never blocks a message."""

_FURTHER_WEIGHT = 0.4
"""Weight of a further clause: a notice."""

_EXPLAINING_FEATURES = 4

_REPEATED_SHARE = 0.8
"""Share of a passage's words that repeat the student or the statement, from which on the passage is a quotation."""

_WRITTEN_CODE = frozenset({"p:fence-new", "p:code-new"})
"""The features of a passage that contains code that the student has not written."""

_COMPARED_WORDS = 5
"""Words per compared n-gram."""

_OTHERS = (
    reference_leak.DETECTOR,
    replacement_code.DETECTOR,
    code_pointing.DETECTOR,
    algorithm_naming.DETECTOR,
    approach_giving.DETECTOR,
    explanation.DETECTOR,
    verdict_leak.DETECTOR,
    hidden_data.DETECTOR,
)
"""The detectors whose findings are features of the model."""

_ROLES = {
    "‹name›": "a name of the program",
    "‹own›": "code of the program",
    "‹new›": "new code",
    "‹number›": "a number",
    "‹ordinal›": "an ordinal",
    "‹story›": "a word of the statement",
    "‹algorithm›": "an algorithm",
    "‹idea›": "a general idea",
}


def chosen_model() -> TextModel:
    """Return the site's own model if it has one that this version of Hintbench can use, else the shipped model."""
    own: Path = settings.TEXT_MODEL
    if own.exists():
        try:
            return load(own)
        except OutdatedModelError as error:
            logger.warning("%s The shipped model is used. Train the site's own model again.", error)
    return load(SHIPPED)


@cache
def current_model() -> TextModel:
    """Return the model, which this process loads once."""
    return chosen_model()


def other_findings(text: str, context: MessageContext) -> list[tuple[str, Detection]]:
    """Return the detections of the other detectors, each with the name of its detector."""
    return [(other.name, one) for other in _OTHERS for one in findings(other, text, context)]


class _Scored(NamedTuple):
    """The results of the model for a message."""

    units: list[Unit]
    scores: Floats
    judgement: Judgement
    others: list[Detection]
    """The detections of the other detectors."""


@lru_cache(maxsize=64)
def _scored(text: str, context: MessageContext) -> _Scored | None:
    """Return the passages of the text with their scores; None for a text without a letter. Do not change them."""
    others = other_findings(text, context)
    if not (units := read_units(text, context, others)):
        return None
    scores = current_model().scores(units)
    found = [one for _, one in others]
    return _Scored(units, scores, current_model().judgement(scores, units, found), found)


def confirms(detection: Detection, text: str, context: MessageContext) -> bool:
    """Return whether the detection is certain, or the text model suspects the message enough to report it.

    A text without a letter cannot be judged; findings of the weight BLOCKING are confirmed in it.
    """
    if (scored := _scored(text, context)) is None:
        return detection.certain or detection.weight >= BLOCKING
    threshold = scored.judgement.highest_threshold(detection, scored.others, scored.units)
    return threshold >= current_model().threshold


def find_similar_messages(text: str, context: MessageContext) -> list[Detection]:
    """Return the clauses that messages like this one break, each at the passage that resembles them most.

    A clause that another detector finds in the same passage is left out.
    """
    if (scored := _scored(text, context)) is None:
        return []
    units, scores, judgement, others = scored
    most = 3 * _EXPLAINING_FEATURES
    return [
        Detection(
            found.clause,
            found.unit.start,
            found.unit.end,
            _explanation(found),
            _LIKELIEST_WEIGHT if found.likeliest else _FURTHER_WEIGHT,
        )
        for found in current_model().find(units, scores, judgement, most=most)
        if not any(
            one.clause == found.clause and one.start < found.unit.end and found.unit.start < one.end
            for one in others
        )
        and not (context.tutor_may_say == "samples" and found.clause == "F5")
        and not (found.clause == "F2" and _lacks_code(found, context))
        and not _is_quoted(text[found.unit.start : found.unit.end], (context.statement, *context.replies))
    ]


def _lacks_code(found: Found, context: MessageContext) -> bool:
    """Return whether there is no program that the passage can point at, and it writes no code either."""
    return not context.programs and _WRITTEN_CODE.isdisjoint(found.unit.features)


def _is_quoted(passage: str, sources: Sequence[str]) -> bool:
    """Return whether most of the passage's words are a run of words of one source, outside its code."""
    words = [TextSpan(*token) for token in tokens(passage)]
    least = max(1, ceil(_REPEATED_SHARE * len(words)))
    size = min(_COMPARED_WORDS, least)
    written = ([token.text for token in tokens(FENCE.sub("", source))] for source in sources)
    return any(next(common_runs(words, [own], size, least), None) for own in written)


def _explanation(found: Found) -> str:
    parts = _distinct(map(in_words, found.features))[:_EXPLAINING_FEATURES]
    reasons = f": {'; '.join(parts)}" if parts else " in meaning"
    return f"This resembles messages that break the clause{reasons}."[:300]


def _distinct(parts: Sequence[str] | map[str]) -> list[str]:
    return [part for part in dict.fromkeys(parts) if part]


def in_words(feature: str) -> str:
    """Return a feature in words, or an empty text for the form of a sentence."""
    kind, _, content = feature.partition(":")
    for role, words in _ROLES.items():
        content = content.replace(role, words)
    content = content.rstrip("?.").replace("^", "").strip(" >")
    if kind == "w":
        return f"“{content}”" if content else ""
    if kind == "c":
        return content.replace(">", ", then ").replace("_", " ")
    if kind in ("a", "p"):
        return content.replace("-", " ")
    if kind == "s" and content.startswith("solution"):
        return "words of the official solution"
    return ""


DETECTOR = Detector(
    name="text-model",
    version=current_model().version,
    clauses=("F1", "F2", "F3", "F4", "F5"),
    finds="messages that resemble labelled ones, by meaning, words, concepts in five languages, and the program",
    ignores="what labelled allowed messages contain; it never blocks",
    find=find_similar_messages,
)
