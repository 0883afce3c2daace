"""Textbooks as folders of Markdown files, one per article."""

import re
from collections.abc import Iterator
from pathlib import Path

from benchmark.corpora.records import ImportedArticle
from benchmark.datasets import SkippedEntry, SourceError

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


def read_markdown(path: Path) -> Iterator[ImportedArticle | SkippedEntry]:
    """Read every `*.md` file below the folder, sorted by path, without hidden files and without front matter.

    The title is the first heading of level one, else the file's name. The id is the path in the folder.
    """
    if not path.is_dir():
        raise SourceError(f"{path} is not a folder; the format markdown needs a folder of .md files")
    names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*.md") if file.is_file())
    names = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    if not names:
        raise SourceError(f"{path} contains no .md file")
    for name in names:
        try:
            text = (path / name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield SkippedEntry(name, f"it cannot be read: {error}")
            continue
        text = _FRONT_MATTER.sub("", text, count=1).strip()
        heading = _HEADING.search(text)
        yield ImportedArticle(name, heading[1] if heading else Path(name).stem, text)
