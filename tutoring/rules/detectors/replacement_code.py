"""Detector of the tutor's own code, which replaces the model's (F2)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.texts import code_spans, without_whitespace

_STATEMENT = re.compile(r"(?<![=<>!])=(?!=)|:$|;$|\breturn\b|\w\(", re.MULTILINE)


def find_replacement_code(text: str, context: MessageContext) -> list[Detection]:
    """Return code that neither the statement nor a reply of the model contains."""
    spans = code_spans(text)
    if not spans:
        return []
    known = without_whitespace(" ".join((context.statement, *context.replies)))
    found = []
    for span in spans:
        if without_whitespace(span.text).rstrip(";:.") in known:
            continue
        complete = _STATEMENT.search(span.text)
        explanation = (
            "This is code that the model has not written: it would replace the model’s own."
            if complete
            else "This expression is neither in the statement nor in the model’s program."
        )
        found.append(Detection("F2", span.start, span.end, explanation, 0.85 if complete else 0.5))
    return found


DETECTOR = Detector(
    name="replacement-code",
    version=1,
    clauses=("F2",),
    finds="code in the message",
    ignores="code of the statement or the model; data",
    find=find_replacement_code,
)
