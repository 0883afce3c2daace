"""Importers, one a format, and the registry of formats. `benchmark.datasets.store` writes what they read."""

from benchmark.datasets.algosimbench import open_algosimbench
from benchmark.datasets.icpc import open_icpc
from benchmark.datasets.records import BrokenSource, ImportedProblem, Importer, LeftOut
from benchmark.datasets.usaco import open_usaco

__all__ = ["FORMATS", "BrokenSource", "ImportedProblem", "Importer", "LeftOut"]

FORMATS: dict[str, Importer] = {
    "usaco": open_usaco,
    "icpc": open_icpc,
    "algosimbench": open_algosimbench,
}
