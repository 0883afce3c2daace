"""Detector that compares the sentences of a message with labelled messages, by linear models (F1 to F5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings

from tutoring.rules.detection import Detection, Detector, MessageContext, findings
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
from tutoring.rules.reading import Unit, read_units
from tutoring.rules.text_model import LinearModel, TextModel, load

SHIPPED = Path(__file__).parent.parent / "text_model.json"
"""The model that is trained on the labelled drafts of the repository."""

FIRST_OWN_VERSION = 1001
"""Versions from here on belong to models that a site has trained itself."""

_HIGHEST_WEIGHT = 0.75
"""Weight of a certain finding: a warning, which never blocks a message."""

_LOWEST_WEIGHT = 0.3

_EXPLAINING_FEATURES = 4

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


@cache
def current_model() -> TextModel:
    """Return the site's own model if it has trained one, else the shipped model."""
    own: Path = settings.TEXT_MODEL
    return load(own if own.exists() else SHIPPED)


def other_findings(text: str, context: MessageContext) -> list[tuple[str, Detection]]:
    """Return the detections of the other detectors, each with the name of its detector."""
    return [(other.name, one) for other in _OTHERS for one in findings(other, text, context)]


def find_similar_messages(text: str, context: MessageContext) -> list[Detection]:
    """Return the sentences, or pairs of sentences, that resemble messages with a label.

    A clause that another detector finds in the same sentences is left out.
    """
    model = current_model()
    others = other_findings(text, context)
    units = read_units(text, context, others)
    return [
        Detection(
            found.clause,
            found.unit.start,
            found.unit.end,
            _explanation(model.models[found.clause], found.unit),
            round(min(_HIGHEST_WEIGHT, max(_LOWEST_WEIGHT, found.probability)), 2),
        )
        for found in model.find(units, flagged=bool(others))
        if not any(
            one.clause == found.clause and one.start < found.unit.end and found.unit.start < one.end
            for _, one in others
        )
        and not (context.tutor_may_say == "samples" and found.clause == "F5")
    ]


def _explanation(model: LinearModel, unit: Unit) -> str:
    parts = _distinct(map(in_words, model.strongest(unit, 3 * _EXPLAINING_FEATURES)))[:_EXPLAINING_FEATURES]
    return f"This resembles messages that break the clause: {'; '.join(parts)}."[:300]


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
    finds="sentences that resemble labelled messages, by words, concepts in five languages, and the program",
    ignores="what labelled allowed messages contain; it never blocks",
    find=find_similar_messages,
)
