"""Text tables for commands."""

from collections.abc import Sequence


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows as lines of text, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
