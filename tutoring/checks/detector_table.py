"""The table of detectors in docs/codebook.md, generated from the registry."""

from __future__ import annotations

import re
from pathlib import Path

from tutoring.checks.checking import GENERATION_COUNT
from tutoring.rules.detectors import detectors

_HEAD = "| detector | clause | finds | ignores |\n| --- | --- | --- | --- |\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|[^\n]*\n)*")


def detector_table() -> str:
    """Return the table in Markdown: a row for each detector and one for the check of the budget."""
    rows = [
        (detector.name, ", ".join(detector.clauses), detector.finds, detector.ignores)
        for detector in detectors().values()
    ]
    rows.append((GENERATION_COUNT, "budget", "more programs than the protocol allows", ""))
    return _HEAD + "".join("| " + " | ".join(row).rstrip() + " |\n" for row in rows)


def write_detector_table(document: Path) -> None:
    """Replace the table in the document. Raise ValueError unless it contains the table's head exactly once."""
    text, replaced = _TABLE.subn(lambda _: detector_table(), document.read_text(encoding="utf-8"))
    if replaced != 1:
        raise ValueError(
            f"{document} must contain the head of the detector table once, not {replaced} times."
        )
    document.write_text(text, encoding="utf-8")
