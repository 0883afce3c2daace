"""The baselines, one a file; `METHODS` is the table of them."""

from benchmark.methods import episodic, zero_shot
from benchmark.methods.method import Chain, Method
from benchmark.methods.settings import Sampling, SettingsError, parse_settings

METHODS: dict[str, Method] = {method.name: method for method in (zero_shot.METHOD, episodic.METHOD)}

__all__ = ["METHODS", "Chain", "Method", "Sampling", "SettingsError", "parse_settings"]
