"""Refine@K: curves from runs and from ICPC-Eval's result files, beside resampling (docs/spec.md 0.1, 5.2).

`eval_results` and `rejudging` are imported by themselves: they load the importers, which no run needs.
"""

from benchmark.reports.refinement.curves import Curve, PassAt, Refinement, curve_of, pass_beside
from benchmark.reports.refinement.runs import NotRefined, attempts_allowed, beside, refinements_of

__all__ = [
    "Curve",
    "NotRefined",
    "PassAt",
    "Refinement",
    "attempts_allowed",
    "beside",
    "curve_of",
    "pass_beside",
    "refinements_of",
]
