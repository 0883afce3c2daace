"""Probes of what a model remembers of problem texts (docs/memorisation.md)."""

from benchmark.memorisation.probing import (
    DEFAULT_SEED,
    Probe,
    ProbeDesign,
    ProbedModel,
    ProbePlan,
    paid_for,
    plan_probes,
    requests_for,
)
from benchmark.memorisation.texts import KINDS

__all__ = [
    "DEFAULT_SEED",
    "KINDS",
    "Probe",
    "ProbeDesign",
    "ProbePlan",
    "ProbedModel",
    "paid_for",
    "plan_probes",
    "requests_for",
]
