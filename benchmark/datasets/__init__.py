"""Importers, one a format, and the registry of formats. `benchmark.datasets.store` writes what they read."""

from benchmark.datasets.algo import open_algo
from benchmark.datasets.algosimbench import open_algosimbench
from benchmark.datasets.codecontests import open_codecontests
from benchmark.datasets.icpc import open_icpc
from benchmark.datasets.icpc_eval import open_icpc_eval
from benchmark.datasets.livecodebench import open_livecodebench
from benchmark.datasets.records import BrokenSource, ImportedProblem, Importer, LeftOut
from benchmark.datasets.usaco import open_usaco

__all__ = ["FORMATS", "BrokenSource", "ImportedProblem", "Importer", "LeftOut"]

FORMATS: dict[str, Importer] = {
    "usaco": open_usaco,
    "icpc": open_icpc,
    "icpc-eval": open_icpc_eval,
    "codecontests": open_codecontests,
    "algo": open_algo,
    "livecodebench": open_livecodebench,
    "algosimbench": open_algosimbench,
}
