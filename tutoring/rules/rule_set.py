"""Rule sets: the codebook that tutors write under and reviewers label with, as versioned data."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

_FILES = Path(__file__).parent / "rule_sets"


class UnknownRuleSetError(ValueError):
    """There is no rule set of that version; the message names those there are."""


@dataclass(frozen=True)
class Clause:
    """One rule. `code` is F1 … F5 for what is forbidden, A1 … A6 for the allowed moves.

    Each has an example on either side of the line and one near it, with the decision on that one. The forbidden
    example of an allowed move is what looks like it and is not.
    """

    code: str
    kind: Literal["forbidden", "allowed"]
    title: str
    definition: str
    allowed_example: str
    forbidden_example: str
    borderline_example: str
    borderline_decision: str


@dataclass(frozen=True)
class Level:
    """How specific a message is, from 0 (neutral) to 4 (the answer): an ordinal label."""

    level: int
    title: str
    definition: str
    example: str


@dataclass(frozen=True)
class Term:
    """A value of a closed list that reviewers choose from."""

    code: str
    title: str
    definition: str


@dataclass(frozen=True)
class RuleSet:
    """One version of the codebook. `content_hash` is the sha256 of everything else in it."""

    version: int
    title: str
    clauses: tuple[Clause, ...]
    levels: tuple[Level, ...]
    stages: tuple[Term, ...]
    verdicts: tuple[Term, ...]
    content_hash: str

    def clause(self, code: str) -> Clause:
        """The clause with that code. Raises KeyError for another."""
        for clause in self.clauses:
            if clause.code == code:
                return clause
        raise KeyError(code)

    @property
    def forbidden(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if clause.kind == "forbidden")

    @property
    def forbidden_codes(self) -> frozenset[str]:
        return frozenset(clause.code for clause in self.forbidden)

    @property
    def allowed(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if clause.kind == "allowed")


@cache
def rule_set_versions() -> tuple[int, ...]:
    """The versions there are, oldest first."""
    return tuple(sorted(int(file.stem) for file in _FILES.glob("*.toml")))


@cache
def rule_set(version: int) -> RuleSet:
    """The rule set of that version. Raises UnknownRuleSetError."""
    if version not in rule_set_versions():
        known = ", ".join(map(str, rule_set_versions()))
        raise UnknownRuleSetError(f"There is no rule set of version {version}; known are: {known}.")
    data: dict[str, Any] = tomllib.loads((_FILES / f"{version}.toml").read_text(encoding="utf-8"))
    parts = {
        "version": version,
        "title": data["title"],
        "clauses": tuple(Clause(**clause) for clause in data["clauses"]),
        "levels": tuple(Level(**level) for level in data["levels"]),
        "stages": tuple(Term(**stage) for stage in data["stages"]),
        "verdicts": tuple(Term(**verdict) for verdict in data["verdicts"]),
    }
    content = asdict(RuleSet(**parts, content_hash=""))
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return RuleSet(**parts, content_hash=digest)


def current_rule_set() -> RuleSet:
    """The newest rule set: new protocols are frozen with it and new reviews are made under it."""
    return rule_set(rule_set_versions()[-1])
