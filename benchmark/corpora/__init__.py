"""Importers of textbooks, one a format. `benchmark.corpora.store` writes what they read."""

from benchmark.corpora.json_files import read_cpbook, read_cphandbook
from benchmark.corpora.markdown import read_markdown
from benchmark.corpora.records import ImportedArticle, Reader

__all__ = ["FORMATS", "ImportedArticle", "Reader"]

FORMATS: dict[str, Reader] = {
    "cpbook": read_cpbook,
    "cphandbook": read_cphandbook,
    "markdown": read_markdown,
}
