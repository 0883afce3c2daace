"""The importers of problem collections, one module per format, and the registry of formats.

A new format needs one module that defines `IMPORTER`, and its name in `_MODULES`. `benchmark.datasets.store` writes
what an importer reads to the database.
"""

from functools import cache
from importlib import import_module

from benchmark.datasets.records import ImportedProblem, Importer, SkippedEntry, SourceError

__all__ = ["ImportedProblem", "Importer", "SkippedEntry", "SourceError", "formats"]

_MODULES = (
    "usaco",
    "icpc",
    "icpc_eval",
    "codecontests",
    "algo",
    "livecodebench",
    "algosimbench",
)


@cache
def formats() -> dict[str, Importer]:
    """Return the importers by the name of their format.

    The first call also loads the readers of LaTeX, PDF and figures, which processes without imports do not need.
    """
    loaded: list[Importer] = [import_module(f"{__name__}.{module}").IMPORTER for module in _MODULES]
    return {importer.name: importer for importer in loaded}
