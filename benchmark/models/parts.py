"""Parts of long lists of rows or keys, because one statement takes a limited number of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def parts(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the rows in order, at most `size` at once."""
    return (rows[first : first + size] for first in range(0, len(rows), size))
