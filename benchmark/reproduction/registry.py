"""How a figure is registered, and where its data comes from."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["recomputed from data", "consistency of printed numbers"]
RECOMPUTED: Kind = "recomputed from data"
CONSISTENCY: Kind = "consistency of printed numbers"
"""What an agreement shows: that data gives the figure again, or only that printed numbers fit each other."""


@dataclass(frozen=True)
class Check:
    """One figure: what it is, what was published, what came out, and whether the two agree.

    `chosen_after` is the one of the reproduction's choices that the figure rests on, blank where it rests on none.
    """

    figure: str
    expected: str
    obtained: str
    agrees: bool
    chosen_after: str = ""

    @classmethod
    def equal(cls, figure: str, expected: object, obtained: object, *, chosen_after: str = "") -> "Check":
        """Return a check that agrees when both are the same."""
        return cls(figure, str(expected), str(obtained), expected == obtained, chosen_after)


class DataMissingError(Exception):
    """A file is not there; the message says which and where to get it."""


SOURCES = {
    "usaco/usaco_dict.json": "the 484 problems of the public repository benshi34/USACOTutoring",
    "usaco/postcutoff_problems_dict.json": "the 36 later problems of the public repository benshi34/USACOTutoring",
    "algosimbench/all_problems_corpus_raw.json": "the data set JerryL/AlgoSimBench of Hugging Face, its folder data "
    "with the questions included",
    "algo/leetcode_data/metadata.json": "leetcode_data and leetcode_results of the public repository zkx06111/ALGO",
    "icpc-eval": "ICPC-Eval's result files, eval_results_….json, in a folder icpc-eval",
}
"""Where a user gets each file."""


@dataclass(frozen=True)
class Files:
    """The folder that the user gave, or none."""

    folder: Path | None

    def path(self, name: str) -> Path:
        """The file of that name. Raises DataMissingError."""
        path = self.folder / name if self.folder else None
        if path is None or not path.exists():
            raise DataMissingError(f"needs {name} in the folder given as --data: {SOURCES[name]}.")
        return path

    def json(self, name: str) -> Any:
        """The file's content. Raises DataMissingError, also for a file that is no JSON."""
        path = self.path(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataMissingError(
                f"{path} is not valid JSON ({error}). It may be cut off: fetch it again."
            ) from None


@dataclass(frozen=True)
class Reproduction:
    """A figure or a few that belong together, by the name docs/spec.md gives them.

    `chosen_after` says what was chosen after the result was seen, because the source leaves it open. An agreement that
    rests on such a choice shows less than others.
    """

    name: str
    title: str
    kind: Kind
    checks: Callable[[Files], Iterable[Check]]
    chosen_after: tuple[str, ...] = ()


REPRODUCTIONS: dict[str, Reproduction] = {}


def reproduces(
    name: str, title: str, kind: Kind, *chosen_after: str
) -> Callable[[Callable[[Files], Iterable[Check]]], None]:
    """Return a decorator that registers a function from the user's files to checks."""

    def register(checks: Callable[[Files], Iterable[Check]]) -> None:
        if name in REPRODUCTIONS:
            raise ValueError(f"{name} is registered twice")
        REPRODUCTIONS[name] = Reproduction(name, title, kind, checks, chosen_after)

    return register
