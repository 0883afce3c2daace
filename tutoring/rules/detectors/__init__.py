"""The detectors: deterministic, explained, fast enough for every pause in typing."""

from __future__ import annotations

from dataclasses import replace

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.detectors.algorithm_naming import find_algorithm_names
from tutoring.rules.detectors.approach_giving import find_given_approaches
from tutoring.rules.detectors.code_pointing import find_pointing
from tutoring.rules.detectors.explanation import find_explanations
from tutoring.rules.detectors.hidden_data import find_hidden_data
from tutoring.rules.detectors.reference_leak import find_reference_leaks
from tutoring.rules.detectors.replacement_code import find_replacement_code
from tutoring.rules.detectors.verdict_leak import find_verdict_leaks

DETECTORS = (
    Detector("reference-leak", 1, ("F1", "F2"), find_reference_leaks),
    Detector("replacement-code", 1, ("F2",), find_replacement_code),
    Detector("code-pointing", 1, ("F2",), find_pointing),
    Detector("algorithm-naming", 1, ("F1",), find_algorithm_names),
    Detector("approach-giving", 1, ("F1",), find_given_approaches),
    Detector("explanation", 1, ("F3",), find_explanations),
    Detector("verdict-leak", 1, ("F5",), find_verdict_leaks),
    Detector("hidden-data", 1, ("F4",), find_hidden_data),
)


def detect(text: str, context: MessageContext) -> list[Detection]:
    """Everything the detectors find in the message, in its order. Linear in its length; never raises on any text."""
    found = [
        replace(detection, detector=detector.name, version=detector.version)
        for detector in DETECTORS
        for detection in detector.find(text, context)
    ]
    return sorted(found, key=lambda detection: (detection.start, detection.end, detection.clause))
