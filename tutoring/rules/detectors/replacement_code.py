"""Code of the tutor's own, which is replacement code (F2)."""

from __future__ import annotations

import re

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.texts import code_pieces, squeezed

_STATEMENT = re.compile(r"(?<![=<>!])=(?!=)|:$|;$|\breturn\b|\w\(", re.MULTILINE)


def find_replacement_code(text: str, context: MessageContext) -> list[Detection]:
    """Pieces of code that neither the statement nor a reply of the model holds."""
    pieces = code_pieces(text)
    if not pieces:
        return []
    known = squeezed(" ".join((context.statement, *context.replies)))
    found = []
    for piece in pieces:
        if squeezed(piece.text).rstrip(";:.") in known:
            continue
        complete = _STATEMENT.search(piece.text)
        explanation = (
            "This is code that the model has not written: it would replace the model’s own."
            if complete
            else "This expression stands neither in the statement nor in the model’s program."
        )
        found.append(Detection("F2", piece.start, piece.end, explanation, 0.85 if complete else 0.5))
    return found
