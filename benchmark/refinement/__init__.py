"""Refine@K: curves from runs and from ICPC-Eval's result files, beside resampling (METHODS.md 0.1, 5.2)."""

from benchmark.refinement.curves import Curve, PassAt, Refinement, curve_of, pass_beside
from benchmark.refinement.eval_results import EvalResults, read_eval_results
from benchmark.refinement.rejudging import Rejudged, rejudge
from benchmark.refinement.runs import NotRefined, attempts_allowed, beside, refinements_of

__all__ = [
    "Curve",
    "EvalResults",
    "NotRefined",
    "PassAt",
    "Refinement",
    "Rejudged",
    "attempts_allowed",
    "beside",
    "curve_of",
    "pass_beside",
    "read_eval_results",
    "refinements_of",
    "rejudge",
]
