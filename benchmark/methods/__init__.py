"""The baselines of the USACO and ICPC papers, composed of the parts in this folder; `METHODS` is the table of them."""

from benchmark.methods.composition import compose
from benchmark.methods.episodic import EPISODIC
from benchmark.methods.method import Chain, Method
from benchmark.methods.profiles import PROFILES, Profile
from benchmark.methods.reflexion import REFLEXION, Reflexion
from benchmark.methods.semantic import SEMANTIC, Semantic
from benchmark.methods.settings import Sampling, SettingsError, parse_settings
from benchmark.methods.zero_shot import ZERO_SHOT

METHODS: dict[str, Method] = {
    method.name: method
    for answer in (ZERO_SHOT, REFLEXION)
    for searches in ((), (SEMANTIC,), (EPISODIC,), (SEMANTIC, EPISODIC))
    for method in [compose(searches, answer)]
}

__all__ = [
    "METHODS",
    "PROFILES",
    "Chain",
    "Method",
    "Profile",
    "Reflexion",
    "Sampling",
    "Semantic",
    "SettingsError",
    "parse_settings",
]
