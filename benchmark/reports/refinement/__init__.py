"""Refine@K: curves of runs and of ICPC-Eval's result files, compared with resampling (docs/spec.md 0.1, 5.2).

Import `eval_results` and `rejudging` separately: they load the importers, which runs do not need.
"""

from benchmark.reports.refinement.curves import (
    Refinement,
    RefinementCurve,
    ShareAtK,
    curve_of,
    resampling_comparison,
)
from benchmark.reports.refinement.runs import (
    NotRefineRunError,
    attempts_allowed,
    compare_with_resampling,
    differing_settings,
    refinements_of,
)

__all__ = [
    "NotRefineRunError",
    "Refinement",
    "RefinementCurve",
    "ShareAtK",
    "attempts_allowed",
    "compare_with_resampling",
    "curve_of",
    "differing_settings",
    "refinements_of",
    "resampling_comparison",
]
