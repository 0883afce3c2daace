"""Rule sets: the versions of the codebook that tutors follow and reviewers label with, as data."""

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
    """No rule set has this version. The message lists the known versions."""


@dataclass(frozen=True)
class Clause:
    """One rule: F1 … F5 are forbidden, A1 … A6 are allowed moves.

    Each clause has an allowed, a forbidden and a borderline example, and the decision on the borderline one. The
    forbidden example of an allowed move only resembles the move.
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
class SpecificityLevel:
    """An ordinal label: how specific a message is, from 0 (neutral) to 4 (the answer)."""

    level: int
    title: str
    definition: str
    example: str


@dataclass(frozen=True)
class Term:
    """One value of a closed list from which reviewers choose."""

    code: str
    title: str
    definition: str


@dataclass(frozen=True)
class RuleSet:
    """One version of the codebook. `content_hash` is the sha256 of all other fields."""

    version: int
    title: str
    clauses: tuple[Clause, ...]
    levels: tuple[SpecificityLevel, ...]
    stages: tuple[Term, ...]
    verdicts: tuple[Term, ...]
    content_hash: str

    def clause(self, code: str) -> Clause:
        """Return the clause with that code. Raise KeyError if there is none."""
        for clause in self.clauses:
            if clause.code == code:
                return clause
        raise KeyError(code)

    @property
    def forbidden(self) -> tuple[Clause, ...]:
        """Return the forbidden clauses."""
        return tuple(clause for clause in self.clauses if clause.kind == "forbidden")

    @property
    def forbidden_codes(self) -> frozenset[str]:
        """Return the codes of the forbidden clauses."""
        return frozenset(clause.code for clause in self.forbidden)

    @property
    def allowed(self) -> tuple[Clause, ...]:
        """Return the allowed moves."""
        return tuple(clause for clause in self.clauses if clause.kind == "allowed")


@cache
def rule_set_versions() -> tuple[int, ...]:
    """Return the known versions, oldest first."""
    return tuple(sorted(int(file.stem) for file in _FILES.glob("*.toml")))


@cache
def rule_set(version: int) -> RuleSet:
    """Return the rule set of that version. Raise UnknownRuleSetError if there is none."""
    if version not in rule_set_versions():
        known = ", ".join(map(str, rule_set_versions()))
        raise UnknownRuleSetError(f"There is no rule set of version {version}. Known versions: {known}.")
    data: dict[str, Any] = tomllib.loads((_FILES / f"{version}.toml").read_text(encoding="utf-8"))
    parts = {
        "version": version,
        "title": data["title"],
        "clauses": tuple(Clause(**clause) for clause in data["clauses"]),
        "levels": tuple(SpecificityLevel(**level) for level in data["levels"]),
        "stages": tuple(Term(**stage) for stage in data["stages"]),
        "verdicts": tuple(Term(**verdict) for verdict in data["verdicts"]),
    }
    content = asdict(RuleSet(**parts, content_hash=""))
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return RuleSet(**parts, content_hash=digest)


def current_rule_set() -> RuleSet:
    """Return the newest rule set, which new protocols and new reviews use."""
    return rule_set(rule_set_versions()[-1])
