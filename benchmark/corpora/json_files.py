"""The textbooks of the USACO paper: JSON lists with one object per article (docs/spec.md 10.2)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmark.corpora.records import ImportedArticle
from benchmark.datasets import SkippedEntry, SourceError
from benchmark.datasets.json_stream import read_list


def read_cpbook(path: Path) -> Iterator[ImportedArticle | SkippedEntry]:
    """Read the whole articles of `cpbook_v2.json`, with the lists of practice problems that the paper searched too."""
    return _articles(path, "cpbook", "full_article")


def read_cpbook_without_problems(path: Path) -> Iterator[ImportedArticle | SkippedEntry]:
    """Read the articles of `cpbook_v2.json` without their lists of practice problems (docs/spec.md 7.4)."""
    return _articles(path, "cpbook-article", "article")


def _articles(path: Path, format_name: str, field: str) -> Iterator[ImportedArticle | SkippedEntry]:
    for number, entry in enumerate(_entries(path, format_name, "title", field), 1):
        title, text = entry.get("title"), entry.get(field)
        identifier = entry.get("path") or title
        if isinstance(title, str) and isinstance(text, str) and isinstance(identifier, str):
            yield ImportedArticle(identifier, title, text.replace("\r\n", "\n"))
        else:
            yield SkippedEntry(f"entry {number}", f"its title, path or {field} is not a string")


def read_cphandbook(path: Path) -> Iterator[ImportedArticle | SkippedEntry]:
    """Read the sections of the handbook in `cp_handbook.json`. Their text is LaTeX."""
    required = ("chapter_title", "section_title", "section_content")
    for number, entry in enumerate(_entries(path, "cphandbook", *required), 1):
        chapter, section, text = (entry.get(name) for name in required)
        if isinstance(chapter, str) and isinstance(section, str) and isinstance(text, str):
            yield ImportedArticle(f"{chapter}/{section}", f"{chapter}: {section}", text.replace("\r\n", "\n"))
        else:
            yield SkippedEntry(f"entry {number}", f"its {' or '.join(required)} is not a string")


def _entries(path: Path, format_name: str, *required: str) -> Iterator[dict[str, Any]]:
    """Yield the entries, {} for one that is not an object. Raises SourceError if none has the required keys."""
    if not path.is_file():
        raise SourceError(f"{path} is not a file; the format {format_name} needs a JSON file")
    whole = 0
    for entry in read_list(path):
        article = entry if isinstance(entry, dict) else {}
        whole += article.keys() >= set(required)
        yield article
    if not whole:
        raise SourceError(
            f"{path} contains no article of the format {format_name}: no entry has the keys {', '.join(required)}"
        )
