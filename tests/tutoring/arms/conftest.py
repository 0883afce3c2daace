"""The commands of the runs, with their bank of problems, and a chain without a model."""

from tests.benchmark.runs.conftest import commands, filled_var

__all__ = ["commands", "filled_var"]
