"""The baselines of the papers and their controls, composed of the parts in this folder.

`METHODS` is the table of them: the eight of the papers first, then those with a control in them, which say so beside
every figure (`Method.caveat`).
"""

from benchmark.methods.algo import IMPLICIT, ITERATIVE, TAG_ENUMERATION, VERIFIER, Building
from benchmark.methods.assumed import AssumedChain
from benchmark.methods.composition import compose
from benchmark.methods.episodic import EPISODIC
from benchmark.methods.matched import MATCHED, Matched
from benchmark.methods.method import Chain, Method, Scoring
from benchmark.methods.oracle_assisted import ORACLE_ASSISTED
from benchmark.methods.profiles import PROFILES, Profile
from benchmark.methods.program_tester import Bench, Score
from benchmark.methods.random_examples import RANDOM
from benchmark.methods.refine import REFINE, Refine
from benchmark.methods.reflexion import REFLEXION, Reflexion, Selection, select
from benchmark.methods.retry import RETRY, Retry
from benchmark.methods.semantic import SEMANTIC, Semantic
from benchmark.methods.settings import Sampling, SettingsError, parse_settings, written
from benchmark.methods.zero_shot import ZERO_SHOT

_RETRIEVAL = ((), (SEMANTIC,), (EPISODIC,), (SEMANTIC, EPISODIC))
_CONTROLS = ((RANDOM,), (ORACLE_ASSISTED,))

METHODS: dict[str, Method] = {
    method.name: method
    for searches, answers in (
        (_RETRIEVAL, (ZERO_SHOT, REFLEXION)),
        (((),), (REFINE, VERIFIER, IMPLICIT, TAG_ENUMERATION, ITERATIVE)),
        (_RETRIEVAL, (RETRY,)),
        (_CONTROLS, (ZERO_SHOT, REFLEXION, RETRY)),
        (((MATCHED,),), (ZERO_SHOT, REFLEXION)),
    )
    for answer in answers
    for method in [compose(found, answer) for found in searches]
}


def scoring_of(method: str) -> Scoring:
    """Return what scores the runs of a method; one that this version does not have is scored by pass@k."""
    return METHODS[method].scoring if method in METHODS else "pass"


def methods_scored_by(scoring: Scoring) -> list[str]:
    """Return the names of the methods whose runs are scored so."""
    return [name for name, method in METHODS.items() if method.scoring == scoring]


__all__ = [
    "METHODS",
    "PROFILES",
    "AssumedChain",
    "Bench",
    "Building",
    "Chain",
    "Matched",
    "Method",
    "Profile",
    "Refine",
    "Reflexion",
    "Retry",
    "Sampling",
    "Score",
    "Scoring",
    "Selection",
    "Semantic",
    "SettingsError",
    "methods_scored_by",
    "parse_settings",
    "scoring_of",
    "select",
    "written",
]
