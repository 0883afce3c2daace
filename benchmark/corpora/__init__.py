"""Importers of textbooks, one per format. `benchmark.corpora.store` stores the articles."""

from pathlib import Path

from benchmark.corpora.json_files import read_cpbook, read_cpbook_without_problems, read_cphandbook
from benchmark.corpora.markdown import read_markdown
from benchmark.corpora.records import ImportedArticle, Reader

__all__ = ["FORMATS", "TEXTBOOK", "ImportedArticle", "Reader"]

FORMATS: dict[str, Reader] = {
    "cpbook": read_cpbook,
    "cpbook-article": read_cpbook_without_problems,
    "cphandbook": read_cphandbook,
    "markdown": read_markdown,
}

TEXTBOOK = Path(__file__).resolve().parent.parent / "textbook"
"""The folder of the textbook that ships with Hintbench."""
