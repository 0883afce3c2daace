"""Comparison of runs: the first with each of the others, problem by problem (docs/spec.md 0.1).

Only problems that both runs tried are compared; the others are counted. Verdicts and the matrix use the first chains
(chain 0), the difference and its test use all chains. A refine run is compared by its Refine@K. The statistics are in
`benchmark.metrics`.
"""

from benchmark.reports.comparison.comparing import NothingToCompareError, compare
from benchmark.reports.comparison.outcomes import NO_REPLY, SameProblems, same_problems
from benchmark.reports.comparison.records import (
    Comparison,
    Divergence,
    Overlap,
    RunPair,
    ShareOfBest,
    comparison_document,
)
from benchmark.reports.comparison.text import comparison_text

__all__ = [
    "NO_REPLY",
    "Comparison",
    "Divergence",
    "NothingToCompareError",
    "Overlap",
    "RunPair",
    "SameProblems",
    "ShareOfBest",
    "compare",
    "comparison_document",
    "comparison_text",
    "same_problems",
]
