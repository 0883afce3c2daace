"""Published figures that need no model, recomputed (METHODS.md 11): `REPRODUCTIONS` is the table of them.

Each module of this folder registers its own with `@reproduces`; a new module is named here.
"""

from benchmark.reproduction import (  # noqa: F401  they register themselves
    collections,
    oracles,
    printed,
    retrieval,
    similarity,
    suites,
)
from benchmark.reproduction.registry import REPRODUCTIONS, Check, DataMissing, Files, Reproduction

__all__ = ["REPRODUCTIONS", "Check", "DataMissing", "Files", "Reproduction"]
