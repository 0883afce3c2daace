"""The statement, the analysis and the figures of a problem package."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.datasets.figures import SUFFIXES, FigureError, read_figure
from benchmark.datasets.records import FigureRecord
from judge.packages import PackageError

MAXIMUM_TEXT = 2 * 2**20
"""Maximum size of a statement or an analysis in bytes."""

_FORMATS = {".md": "markdown", ".tex": "latex"}
_STATEMENT = re.compile(r"problem(?:\.([A-Za-z-]{2,7}))?\.(?:md|tex)")
_ANALYSIS = re.compile(r"solution(?:\.([A-Za-z-]{2,7}))?\.(?:md|tex)")


@dataclass(frozen=True)
class Text:
    """A text file of a package with its format, "markdown" or "latex"."""

    path: Path
    format: str
    content: str

    @classmethod
    def read(cls, path: Path) -> "Text":
        """Return the file's text; invalid UTF-8 is replaced. Raises PackageError if the file is too large."""
        if path.stat().st_size > MAXIMUM_TEXT:
            raise PackageError(f"{path} is larger than {MAXIMUM_TEXT // 2**20} MiB")
        content = path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
        return cls(path, _FORMATS.get(path.suffix, ""), content)


_HOW_TO_READ = "What the program reads begins with <, what it writes with >."


def sample_interactions(package: Path, text_format: str) -> str:
    """Return the sample dialogues of an interactive problem as a section of its statement.

    Prompts and pages must not show the inputs of these samples.
    """
    parts = []
    for number, file in enumerate(sorted((package / "data" / "sample").glob("*.interaction")), 1):
        dialogue = Text.read(file).content.rstrip()
        if text_format == "latex":
            dialogue = dialogue.replace(r"\end{verbatim}", "")
            head = rf"\section*{{Sample Interaction {number}}}"
            parts.append(f"{head}\n\n{_HOW_TO_READ}\n\n\\begin{{verbatim}}\n{dialogue}\n\\end{{verbatim}}")
        else:
            shown = "\n".join(f"    {line}" for line in dialogue.split("\n"))
            parts.append(f"## Sample Interaction {number}\n\n{_HOW_TO_READ}\n\n{shown}")
    return "".join(f"\n\n{part}\n" for part in parts)


def statement_text(package: Path) -> Text | None:
    """Return the statement, preferably English, preferably Markdown; None without one."""
    return _best([package / "statement", package / "problem_statement"], _STATEMENT)


def analysis_text(package: Path) -> Text | None:
    """Return the official analysis, selected like the statement; None without one."""
    return _best([package / "solution", package / "problem_statement", package / "statement"], _ANALYSIS)


def _best(folders: Sequence[Path], name: re.Pattern[str]) -> Text | None:
    found = []
    for index, folder in enumerate(folders):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            match = name.fullmatch(path.name)
            if match and path.is_file():
                language = match[1] or "en"
                found.append((not language.startswith("en"), language, path.suffix != ".md", index, path))
    return Text.read(min(found)[-1]) if found else None


def figures_of(texts: Sequence[Text]) -> tuple[tuple[FigureRecord, ...], list[str]]:
    """Return the figures that the texts reference, and notes on those that cannot be displayed."""
    figures: dict[str, FigureRecord] = {}
    notes = []
    for folder in dict.fromkeys(text.path.parent for text in texts):
        contents = [text.content for text in texts if text.path.parent == folder]
        for path in _named_pictures(folder, contents):
            try:
                figure = read_figure(path)
            except FigureError as reason:
                notes.append(f"the figure {path.name} is skipped: {reason}")
                continue
            figures.setdefault(figure.name, figure)
    return tuple(figures.values()), notes


def _named_pictures(folder: Path, contents: Sequence[str]) -> list[Path]:
    """Return the preferred file for each figure that the texts name, with or without its suffix."""
    by_stem: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            named = re.compile(rf"[{{(/]\s*{re.escape(path.stem)}(?:{re.escape(path.suffix)})?\s*[}})\s]")
            if any(named.search(content) for content in contents):
                by_stem.setdefault(path.stem, []).append(path)
    return [min(paths, key=lambda path: SUFFIXES.index(path.suffix.lower())) for paths in by_stem.values()]
