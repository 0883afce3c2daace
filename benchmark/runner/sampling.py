"""The sampling parameters of a run."""

from __future__ import annotations

from dataclasses import replace

from benchmark.methods import MethodSettings
from benchmark.models import LanguageModel
from benchmark.providers import Parameters


def sampling_of(settings: MethodSettings, model: LanguageModel | None) -> Parameters:
    """Return the parameters that requests send: those of the settings, and the further request fields of the model."""
    extra = model.parameters.get("extra") if model else None
    return replace(settings.parameters, extra=extra)
