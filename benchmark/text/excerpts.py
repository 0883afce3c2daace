"""Long texts are shown by their beginnings, in statements and prompts alike."""

from pathlib import Path


def excerpt(text: str, longest: int) -> str:
    """The text without blanks at its end; of one with `longest` characters or more so many, and a note.

    A text of exactly that length counts as longer: the judge keeps no more of an output, so it may have been.
    """
    text = text.rstrip()
    return text if len(text) < longest else f"{text[:longest]}\n[cut after {longest} characters]"


def excerpt_of(path: Path, longest: int) -> str:
    """The same of a file, of which no more is read than needed."""
    with path.open("rb") as file:
        beginning = file.read(4 * (longest + 1))  # a character has four bytes at most
    return excerpt(
        beginning.decode("utf-8", "replace").replace("\r\n", "\n").replace("\0", "\ufffd"), longest
    )
