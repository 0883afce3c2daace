"""n@k by number of oracle tests, computed from stored verifications (docs/spec.md 3.1, ALGO's Figure 6)."""

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmark.oracles.candidates import VerifiedCandidate, mean_n_at_k

SIZES = (0, 1, 2, 3, 5, 10, 15, 20, 30, 50)
"""Numbers of oracle tests in addition to the samples; the paper's gains flatten at 30."""

DRAWS = 50
"""Number of random draws of tests. All sizes of a draw are prefixes of one order, which reduces the curve's noise."""


@dataclass(frozen=True)
class SuiteSizeRow:
    """n@k by n, averaged over draws of this number of tests. `largest`: no problem has more tests."""

    tests: int
    at: dict[int, float | None]
    largest: bool

    def to_json(self) -> dict[str, Any]:
        """Return the row that `verify_candidates --json` prints."""
        return {"tests": self.tests, "n_at_k": self.at, "largest": self.largest}


def by_suite_size(
    groups: Sequence[Sequence[VerifiedCandidate]], ns: Sequence[int], sizes: Sequence[int] = SIZES
) -> list[SuiteSizeRow]:
    """Return n@k for the numbers of oracle tests in `sizes` below the largest suite, and for the largest suite.

    Candidates are ranked by the samples and the drawn tests; problems with fewer tests use all of theirs. Empty if the
    outcomes of single tests are unknown.
    """
    outcomes = [[_outcomes(one) for one in group] for group in groups]
    if not groups or not all(all(group) for group in outcomes):
        return []
    counts = [len(group[0]["tests"]) for group in outcomes]
    largest = max(counts)
    return [
        SuiteSizeRow(size, {n: _mean(groups, counts, size, n) for n in ns}, size == largest)
        for size in sorted({size for size in sizes if size < largest} | {largest})
    ]


def write_csv(rows: Sequence[SuiteSizeRow], path: Path) -> None:
    """Write one row for each size and n."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("tests", "n", "n_at_k"))
        writer.writerows((row.tests, n, value) for row in rows for n, value in row.at.items())


def _mean(
    groups: Sequence[Sequence[VerifiedCandidate]], counts: Sequence[int], size: int, n: int
) -> float | None:
    draws = 1 if size in (0, max(counts)) else DRAWS
    values = [
        mean_n_at_k(
            groups,
            [_scores(group, count, size, draw) for group, count in zip(groups, counts, strict=True)],
            n,
        )
        for draw in range(draws)
    ]
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _scores(group: Sequence[VerifiedCandidate], count: int, size: int, draw: int) -> list[float | None]:
    order = list(range(count))
    problem = group[0].candidate.problem.external_id
    random.Random(f"{problem}/{draw}").shuffle(order)  # noqa: S311 (a reproducible draw)
    outcomes = map(_outcomes, group)
    return [
        one["samples"].count("1") + sum(one["tests"][index] == "1" for index in order[:size])
        for one in outcomes
    ]


def _outcomes(one: VerifiedCandidate) -> dict[str, str]:
    """Return the outcomes; empty for a row of an older version."""
    return one.verification.outcomes or {}
