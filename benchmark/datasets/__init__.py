"""The importers of problem collections, one module per format, and the registry of formats.

A new format needs one module that defines `IMPORTER`, and its name in `_MODULES`. `benchmark.datasets.store` writes
what an importer reads to the database.
"""

from importlib import import_module

from benchmark.datasets.records import ImportedProblem, Importer, SkippedEntry, SourceError

__all__ = ["FORMATS", "ImportedProblem", "Importer", "SkippedEntry", "SourceError"]

_MODULES = (
    "usaco",
    "icpc",
    "icpc_eval",
    "codecontests",
    "algo",
    "livecodebench",
    "algosimbench",
)

_IMPORTERS: tuple[Importer, ...] = tuple(
    import_module(f"benchmark.datasets.{module}").IMPORTER for module in _MODULES
)

FORMATS: dict[str, Importer] = {importer.name: importer for importer in _IMPORTERS}
"""Importers by the name of their format."""
