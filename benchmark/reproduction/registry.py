"""The registry of reproduced figures, and the sources of their data."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["recomputed from data", "consistency of printed numbers"]
RECOMPUTED: Kind = "recomputed from data"
CONSISTENCY: Kind = "consistency of printed numbers"
"""The meaning of an agreement: data gives the published figure, or only printed numbers are consistent."""


@dataclass(frozen=True)
class Check:
    """One figure: its name, the published and the obtained value, and whether they agree.

    `chosen_after` is the choice of the reproduction that the figure depends on; blank without one.
    """

    figure: str
    expected: str
    obtained: str
    agrees: bool
    chosen_after: str = ""

    @classmethod
    def equal(cls, figure: str, expected: object, obtained: object, *, chosen_after: str = "") -> "Check":
        """Return a check that agrees if both values are equal."""
        return cls(figure, str(expected), str(obtained), expected == obtained, chosen_after)


class DataMissingError(Exception):
    """A missing file. The message names it and its source."""


SOURCES = {
    "usaco/usaco_dict.json": "the 484 problems of the public repository benshi34/USACOTutoring",
    "usaco/postcutoff_problems_dict.json": "the 36 later problems of the public repository benshi34/USACOTutoring",
    "algosimbench/all_problems_corpus_raw.json": "the data set JerryL/AlgoSimBench of Hugging Face, its folder data "
    "with the questions included",
    "algo/leetcode_data/metadata.json": "leetcode_data and leetcode_results of the public repository zkx06111/ALGO",
    "icpc-eval": "ICPC-Eval's result files, eval_results_….json, in a folder icpc-eval",
}
"""The source of each file, for users."""


@dataclass(frozen=True)
class PublishedData:
    """The folder of the published data that the user names, or None."""

    folder: Path | None

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises DataMissingError."""
        path = self.folder / name if self.folder else None
        if path is None or not path.exists():
            raise DataMissingError(f"needs {name} in the folder given as --data: {SOURCES[name]}.")
        return path

    def json(self, name: str) -> Any:
        """Return the content of a JSON file. Raises DataMissingError for a missing or invalid file."""
        path = self.path(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataMissingError(
                f"{path} is not valid JSON ({error}). It may be truncated: download it again."
            ) from None


@dataclass(frozen=True)
class Reproduction:
    """One or several related figures, by their name in docs/spec.md.

    `chosen_after` lists choices that the source leaves open and that were made after the result was seen. An agreement
    that depends on such a choice is weaker evidence.
    """

    name: str
    title: str
    kind: Kind
    checks: Callable[[PublishedData], Iterable[Check]]
    chosen_after: tuple[str, ...] = ()


REPRODUCTIONS: dict[str, Reproduction] = {}


def reproduces(
    name: str, title: str, kind: Kind, *chosen_after: str
) -> Callable[[Callable[[PublishedData], Iterable[Check]]], None]:
    """Return a decorator that registers a function that computes checks from the user's files."""

    def register(checks: Callable[[PublishedData], Iterable[Check]]) -> None:
        if name in REPRODUCTIONS:
            raise ValueError(f"{name} is registered twice")
        REPRODUCTIONS[name] = Reproduction(name, title, kind, checks, chosen_after)

    return register
