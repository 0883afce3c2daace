"""The registry of detectors.

A detector is one module of this package that defines `DETECTOR`, and one line in `_MODULES`. The check of drafts, the
check of recorded sessions, the page of detector scores and the table in docs/codebook.md read the registry.
"""

from __future__ import annotations

from importlib import import_module

from tutoring.rules.detection import Detection, Detector, MessageContext, findings
from tutoring.rules.detectors import text_model

_MODULES = (
    "reference_leak",
    "replacement_code",
    "code_pointing",
    "algorithm_naming",
    "approach_giving",
    "explanation",
    "verdict_leak",
    "hidden_data",
    "text_model",
)


def _load(module: str) -> Detector:
    detector: Detector = import_module(f"{__name__}.{module}").DETECTOR
    return detector


DETECTORS: dict[str, Detector] = {detector.name: detector for detector in map(_load, _MODULES)}
"""All detectors by name, in the order of pages and tables."""


def detect(text: str, context: MessageContext) -> list[Detection]:
    """Return the detections that the text model confirms, in the order of the text.

    Every detector runs in linear time and accepts any text, because the check of a draft runs at every pause in typing.
    """
    return [one for one in all_detections(text, context) if text_model.confirms(one, text, context)]


def all_detections(text: str, context: MessageContext) -> list[Detection]:
    """Return the detections of every detector in the order of the text, also those that the text model rejects."""
    found = [one for detector in DETECTORS.values() for one in findings(detector, text, context)]
    return sorted(found, key=lambda detection: (detection.start, detection.end, detection.clause))
