"""Published figures that need no model, recomputed (docs/spec.md 11): `REPRODUCTIONS` is the table of them.

Each module of this folder registers figures with `@reproduces`. Import a new module here.
"""

from benchmark.reproduction import (  # noqa: F401  each registers its figures
    collections,
    oracles,
    printed,
    retrieval,
    similarity,
    suites,
)
from benchmark.reproduction.registry import (
    CONSISTENCY,
    RECOMPUTED,
    REPRODUCTIONS,
    Check,
    DataMissingError,
    Kind,
    PublishedData,
    Reproduction,
)

__all__ = [
    "CONSISTENCY",
    "RECOMPUTED",
    "REPRODUCTIONS",
    "Check",
    "DataMissingError",
    "Kind",
    "PublishedData",
    "Reproduction",
]
