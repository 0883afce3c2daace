"""The parts of a problem on which verdicts depend, by version: tests, checker and limits.

Imports store the former version before they replace it, so that a rejudging can state what changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.models import Problem, ProblemVersion

_TEST_COLUMNS = ("name", "origin", "input_hash", "answer_hash")

_MOST_NAMES = 20
"""Names of changed tests that a description lists."""


@dataclass(frozen=True)
class JudgedVersion:
    """The parts of a version of a problem that decide verdicts.

    Each of `tests` is name, origin, input hash and answer hash.
    """

    content_hash: str
    tests: Sequence[Sequence[str]]
    checker: Mapping[str, Any]
    time_limit: float
    memory_limit: int

    @classmethod
    def present(cls, problem: Problem) -> JudgedVersion:
        """Return the stored version of the problem."""
        tests = [list(row) for row in problem.tests.order_by("order").values_list(*_TEST_COLUMNS)]
        return cls(problem.content_hash, tests, problem.checker, problem.time_limit, problem.memory_limit)

    @classmethod
    def of_hash(cls, problem: Problem, content_hash: str) -> JudgedVersion | None:
        """Return the version with this content hash; None if it was replaced before versions were stored."""
        if content_hash == problem.content_hash:
            return cls.present(problem)
        row = problem.former_versions.filter(content_hash=content_hash).first()
        if row is None:
            return None
        return cls(row.content_hash, row.tests, row.checker, row.time_limit, row.memory_limit)

    def to_json(self) -> dict[str, Any]:
        """Return the version as a rejudging stores it: the digest of the tests, and the checker in words."""
        tests = json.dumps([list(test) for test in self.tests])
        return {
            "problem_hash": self.content_hash,
            "tests": len(self.tests),
            "tests_digest": hashlib.sha256(tests.encode()).hexdigest(),
            "checker": describe_checker(self.checker),
            "time_limit": self.time_limit,
            "memory_limit": self.memory_limit,
        }


def store_former_version(problem: Problem) -> None:
    """Store the current version of a problem. Call this in the transaction that replaces the version."""
    version = JudgedVersion.present(problem)
    ProblemVersion.objects.get_or_create(
        problem=problem,
        content_hash=version.content_hash,
        defaults={
            "tests": version.tests,
            "checker": version.checker,
            "time_limit": version.time_limit,
            "memory_limit": version.memory_limit,
        },
    )


def describe_changes(before: JudgedVersion, after: JudgedVersion) -> list[str]:
    """Return what differs between two versions, in words; empty if verdicts depend on none of it."""
    changes = _test_changes(before.tests, after.tests)
    if dict(before.checker) != dict(after.checker):
        changes.append(f"checker: {describe_checker(before.checker)} → {describe_checker(after.checker)}")
    if before.time_limit != after.time_limit:
        changes.append(f"time limit: {before.time_limit:g} s → {after.time_limit:g} s")
    if before.memory_limit != after.memory_limit:
        old, new = before.memory_limit / 2**20, after.memory_limit / 2**20
        changes.append(f"memory limit: {old:g} MiB → {new:g} MiB")
    return changes


def _test_changes(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> list[str]:
    old = {test[0]: test[1:] for test in before}
    new = {test[0]: test[1:] for test in after}
    common = old.keys() & new.keys()
    groups = {
        "tests added": [name for name in new if name not in old],
        "tests removed": [name for name in old if name not in new],
        "tests with another input": [name for name in new if name in common and old[name][1] != new[name][1]],
        "tests with another answer": [
            name for name in new if name in common and old[name][1] == new[name][1] and old[name] != new[name]
        ],
    }
    return [f"{what}: {_listed(names)}" for what, names in groups.items() if names]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def describe_checker(checker: Mapping[str, Any]) -> str:
    """Return the kind of a checker with its options; its program is named by a hash."""
    options = [
        f"{key}={value}" for key, value in sorted(checker.items()) if value and key not in ("kind", "program")
    ]
    if program := checker.get("program"):
        digest = hashlib.sha256(json.dumps(program, sort_keys=True).encode()).hexdigest()
        options.insert(0, f"program {digest[:8]}")
    kind = checker.get("kind", "unknown")
    return f"{kind} ({', '.join(options)})" if options else str(kind)
