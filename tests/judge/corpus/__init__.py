"""Programs with the verdicts they may get, in text files.

A heading `=== LANGUAGE VERDICT name` begins each program. Several verdicts, such as `TLE|MLE`, mean that the machine
decides which limit a program exceeds first. Indented text before the first heading precedes each program in Python.
"""

import re
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

from judge import Limits, Verdict
from judge.records import MEBIBYTE

_HEADING = re.compile(r"^=== (\w+) ([\w|]+) (.+)\n", re.MULTILINE)
_GENEROUS = Limits(time=5, memory=256 * MEBIBYTE, output=MEBIBYTE)


@dataclass(frozen=True)
class Program:
    name: str
    language: str
    verdicts: tuple[Verdict, ...]
    source: str

    @property
    def verdict(self) -> Verdict:
        """The only verdict that the program may get."""
        (verdict,) = self.verdicts
        return verdict

    @property
    def limits(self) -> Limits:
        """Limits under which the verdict does not depend on the machine's speed: only the limit to exceed is tight."""
        if Verdict.TLE in self.verdicts:
            return replace(_GENEROUS, time=0.5 if self.language in ("java", "javascript") else 0.1)
        if Verdict.MLE in self.verdicts:
            return replace(_GENEROUS, memory=64 * MEBIBYTE)
        return _GENEROUS

    def __str__(self) -> str:
        return f"{self.language} {'|'.join(self.verdicts)} {self.name}"


def programs(file_name: str) -> list[Program]:
    """Return the programs of one file of this folder, in its order."""
    text = (Path(__file__).parent / file_name).read_text(encoding="utf-8")
    introduction, *parts = _HEADING.split(text)
    first_lines = "\n".join(line for line in introduction.splitlines() if line.startswith("    "))
    prelude = {"python": textwrap.dedent(first_lines) + "\n" if first_lines else ""}
    return [
        Program(
            name,
            language,
            tuple(map(Verdict, verdicts.split("|"))),
            prelude.get(language, "") + source.strip("\n") + "\n",
        )
        for language, verdicts, name, source in zip(*(parts[i::4] for i in range(4)), strict=True)
    ]
