"""Programs with the verdict they must get, in text files: a heading `=== LANGUAGE VERDICT name`, then the source."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge import Verdict

_HEADING = re.compile(r"^=== (\w+) (\w+) (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    name: str
    language: str
    verdict: Verdict
    source: str

    def __str__(self) -> str:
        return f"{self.language} {self.verdict} {self.name}"


def programs(file_name: str) -> list[Program]:
    """The programs of one file of this folder, in its order."""
    text = (Path(__file__).parent / file_name).read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return [
        Program(name, language, Verdict(verdict), source.strip("\n") + "\n")
        for language, verdict, name, source in zip(*(parts[i::4] for i in range(4)), strict=True)
    ]
