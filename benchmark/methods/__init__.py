"""The methods of the papers and their controls, each composed of the components in this folder.

A new method is a module with a `Strategy` or a `Retriever`, and a line in `METHODS`. Packages above this one register
their methods with `register_method` in the modules that `settings.METHOD_MODULES` lists.
"""

from importlib import import_module

from django.conf import settings as django_settings

from benchmark.methods.algo import IMPLICIT, ITERATIVE, TAG_ENUMERATION, VERIFIER, VerifierSettings
from benchmark.methods.composition import compose
from benchmark.methods.dry_run import DryChain, count_calls, dry_run
from benchmark.methods.episodic import EPISODIC
from benchmark.methods.method import (
    Chain,
    Example,
    Method,
    PlannedRun,
    Preparation,
    Role,
    Scoring,
    TutorModel,
)
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
from benchmark.methods.slow import SLOW_METHODS
from benchmark.methods.zero_shot import ZERO_SHOT

_RETRIEVAL = ((), (SEMANTIC,), (EPISODIC,), (SEMANTIC, EPISODIC))
_CONTROLS = ((RANDOM,), (ORACLE_ASSISTED,))

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(compose(retrievers, strategy) for strategy in (ZERO_SHOT, REFLEXION) for retrievers in _RETRIEVAL),
        *(compose((), strategy) for strategy in (REFINE, VERIFIER, IMPLICIT, TAG_ENUMERATION, ITERATIVE)),
        *(compose(retrievers, RETRY) for retrievers in _RETRIEVAL),
        *(
            compose(retrievers, strategy)
            for strategy in (ZERO_SHOT, REFLEXION, RETRY)
            for retrievers in _CONTROLS
        ),
        *(compose((REPRESENTATION,), strategy) for strategy in (ZERO_SHOT, REFLEXION)),
        *SLOW_METHODS,
    )
}
"""All methods by name, in the order in which commands and documents list them."""


def register_method(method: Method) -> None:
    """Add a method of a package above this one. Raises ValueError for a name that another method has."""
    if METHODS.setdefault(method.name, method) is not method:
        raise ValueError(f"There is another method {method.name!r}.")


def scoring_of(method: str) -> Scoring:
    """Return the scoring of the method's runs; pass@k for a method that this version does not have."""
    return METHODS[method].scoring if method in METHODS else "pass"


def methods_scored_by(scoring: Scoring) -> list[str]:
    """Return the names of the methods whose runs have this scoring."""
    return [name for name, method in METHODS.items() if method.scoring == scoring]


__all__ = [
    "METHODS",
    "PROFILES",
    "Chain",
    "DryChain",
    "Example",
    "Method",
    "MethodSettings",
    "PlannedRun",
    "Preparation",
    "Profile",
    "ProgramTester",
    "RefineSettings",
    "ReflexionSettings",
    "RepresentationSettings",
    "RetrySettings",
    "Role",
    "Scoring",
    "Selection",
    "SemanticSettings",
    "SettingsError",
    "TutorModel",
    "VerifierScore",
    "VerifierSettings",
    "count_calls",
    "dry_run",
    "format_value",
    "methods_scored_by",
    "parse_settings",
    "register_method",
    "scoring_of",
    "select_answer",
]

for _module in django_settings.METHOD_MODULES:
    import_module(_module)
