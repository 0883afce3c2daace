"""Reads the corpus of replies: `*.txt` for people, `*.json` as it comes from elsewhere.

A text file holds entries: a line `=== name | language | how it ended | whether it is a generation`, a line
`why: …`, the reply between a line `<<< reply` and a line `>>> program`, and the program: `(none)` for none, `*` where
it is not compared.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "extraction_corpus"


class Entry(NamedTuple):
    """A reply with its expected results."""

    name: str
    language: str
    ended: str
    reply: str
    program: str | None
    generation: bool


def entries() -> Iterator[Entry]:
    for path in sorted(FOLDER.iterdir()):
        if path.suffix == ".json":
            for row in json.loads(path.read_text(encoding="utf-8")):
                yield Entry(*(row[field] for field in Entry._fields))
        else:
            yield from _entries(path.read_text(encoding="utf-8"))


def _entries(text: str) -> Iterator[Entry]:
    for part in text.removeprefix("=== ").split("\n=== "):
        head, _, rest = part.partition("\n<<< reply\n")
        name, language, ended, generation = head.split("\n")[0].split(" | ")
        reply, _, program = rest.partition("\n>>> program\n")
        expected = None if program.strip() == "(none)" else program
        yield Entry(name, language, ended, reply, expected, generation == "yes")


def normalised(program: str | None) -> str | None:
    """Return the program with plain line ends, without blank lines at its ends and blanks behind it."""
    if program is None:
        return None
    lines = program.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled[0] : filled[-1] + 1]).rstrip() if filled else ""
