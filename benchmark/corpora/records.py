"""What readers hand to the store: plain records, no tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.datasets import LeftOut


@dataclass(frozen=True)
class ImportedArticle:
    """One article as its source has it."""

    external_id: str
    title: str
    text: str


Reader = Callable[[Path], Iterator[ImportedArticle | LeftOut]]
"""The articles at a path, in their order. Raises BrokenSource."""
