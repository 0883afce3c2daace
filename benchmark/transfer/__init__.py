"""Runs as folders: export from one Hintbench and import into another (docs/runs.md)."""

from benchmark.transfer.exporting import CannotExportError, export_runs
from benchmark.transfer.folder import FolderError
from benchmark.transfer.importing import ImportedRuns, import_runs, lines_of
from benchmark.transfer.records import FORMAT

__all__ = [
    "FORMAT",
    "CannotExportError",
    "FolderError",
    "ImportedRuns",
    "export_runs",
    "import_runs",
    "lines_of",
]
