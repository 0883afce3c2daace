"""The registry of detectors.

A detector is one module of this package that defines `DETECTOR`, and one line in `_MODULES`. The check of drafts, the
check of recorded sessions, the page of detector scores and the table in docs/codebook.md read the registry.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module

from tutoring.rules.detection import Detection, Detector, MessageContext, findings

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


@cache
def detectors() -> dict[str, Detector]:
    """Return all detectors by name, in the order of pages and tables.

    The first call imports the detectors and compiles their expressions. This takes half a second, and most commands do
    not need it.
    """
    loaded: list[Detector] = [import_module(f"{__name__}.{module}").DETECTOR for module in _MODULES]
    return {detector.name: detector for detector in loaded}


def detect(text: str, context: MessageContext) -> list[Detection]:
    """Return the detections that the text model confirms, in the order of the text, without surrounding white space.

    Every detector runs in linear time and accepts any text, because the check of a draft runs at every pause in typing.
    """
    from tutoring.rules.detectors.text_model import confirms  # imported late, as in `detectors`

    confirmed = (one for one in all_detections(text, context) if confirms(one, text, context))
    return sorted((_trimmed(one, text) for one in confirmed), key=_order)


def all_detections(text: str, context: MessageContext) -> list[Detection]:
    """Return the detections of every detector in the order of the text, also those that the text model rejects."""
    found = [one for detector in detectors().values() for one in findings(detector, text, context)]
    return sorted(found, key=_order)


def _order(detection: Detection) -> tuple[int, int, str]:
    return detection.start, detection.end, detection.clause


def _trimmed(detection: Detection, text: str) -> Detection:
    passage = text[detection.start : detection.end]
    trimmed = passage.strip()
    start = detection.start + passage.index(trimmed)
    return replace(detection, start=start, end=start + len(trimmed))
