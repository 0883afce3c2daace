"""The baselines of the papers and their controls, composed of the parts in this folder.

`METHODS` is the table of them: the eight of the papers first, then those with a control in them, which say so beside
every figure (`Method.caveat`).
"""

from benchmark.methods.algo import IMPLICIT, ITERATIVE, TAG_ENUMERATION, VERIFIER, VerifierSettings
from benchmark.methods.composition import compose
from benchmark.methods.dry_chain import DryChain
from benchmark.methods.episodic import EPISODIC
from benchmark.methods.method import Chain, Method, Scoring
from benchmark.methods.oracle_assisted import ORACLE_ASSISTED
from benchmark.methods.profiles import PROFILES, Profile
from benchmark.methods.program_tester import ProgramTester, VerifierScore
from benchmark.methods.random_examples import RANDOM
from benchmark.methods.refine import REFINE, RefineSettings
from benchmark.methods.reflexion import REFLEXION, ReflexionSettings, Selection, select_answer
from benchmark.methods.representation_retrieval import REPRESENTATION, RepresentationSettings
from benchmark.methods.retry import RETRY, RetrySettings
from benchmark.methods.semantic import SEMANTIC, SemanticSettings
from benchmark.methods.settings import MethodSettings, SettingsError, format_value, parse_settings
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
        (((REPRESENTATION,),), (ZERO_SHOT, REFLEXION)),
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
    "Chain",
    "DryChain",
    "Method",
    "MethodSettings",
    "Profile",
    "ProgramTester",
    "RefineSettings",
    "ReflexionSettings",
    "RepresentationSettings",
    "RetrySettings",
    "Scoring",
    "Selection",
    "SemanticSettings",
    "SettingsError",
    "VerifierScore",
    "VerifierSettings",
    "format_value",
    "methods_scored_by",
    "parse_settings",
    "scoring_of",
    "select_answer",
]
