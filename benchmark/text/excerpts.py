"""Excerpts: the beginnings of long texts, for statements and prompts."""

from pathlib import Path


def excerpt(text: str, longest: int) -> str:
    """Return the text without trailing whitespace, cut with a note if it has `longest` characters or more.

    A text of exactly `longest` characters is cut too, because the judge stores no more of an output.
    """
    text = text.rstrip()
    return text if len(text) < longest else f"{text[:longest]}\n[cut after {longest} characters]"


def excerpt_of(path: Path, longest: int) -> str:
    """Return the excerpt of a file. No more of the file is read than needed."""
    with path.open("rb") as file:
        beginning = file.read(4 * (longest + 1))  # a character has at most four bytes
    return excerpt(
        beginning.decode("utf-8", "replace").replace("\r\n", "\n").replace("\0", "\ufffd"), longest
    )
