"""The records that readers return, without tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.datasets import SkippedEntry


@dataclass(frozen=True)
class ImportedArticle:
    """An article with the id, title and text of its source."""

    external_id: str
    title: str
    text: str


Reader = Callable[[Path], Iterator[ImportedArticle | SkippedEntry]]
"""A function that yields the articles at a path in their order. Raises SourceError."""
