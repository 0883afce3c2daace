"""The import of runs. Every file and every row is checked before anything is written, in one transaction."""

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import transaction

from benchmark.models import Run
from benchmark.models.signals import run_imported
from benchmark.transfer.checking import FolderReader, Progress, RunCheck, Target, check_repeated, wanted_of
from benchmark.transfer.folder import read_manifest
from benchmark.transfer.writing import RunImport, link_repeated


@dataclass
class ImportedRuns:
    """The result of an import: the new runs, and the ids of runs that were here before."""

    new: list[Run] = field(default_factory=list)
    unchanged: list[UUID] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was recreated from the rows, or why not, in sentences."""


def lines_of(folder: Path) -> int:
    """Return the number of lines that the import of a folder checks. Raises FolderError."""
    return sum(file.rows for file in read_manifest(folder).files)


def import_runs(folder: Path, checked: Progress, written: Progress) -> ImportedRuns:
    """Import the runs of a folder that are not here. Raises FolderError before anything is written."""
    manifest = read_manifest(folder)
    reader = FolderReader(folder, manifest)
    runs = [RunCheck(reader, run, checked).check() for run in manifest.runs]
    check_repeated(runs)
    found = ImportedRuns()
    with transaction.atomic():
        replies: dict[UUID, dict[Target, int]] = {}
        for run in runs:
            if run.stored:
                found.unchanged.append(run.stored.pk)
            else:
                found.new.append(
                    RunImport(reader, run, wanted_of(run.record.id, runs), written).write(replies)
                )
        for run in runs:
            if not run.stored:
                link_repeated(reader, run, replies, runs)
        for imported in Run.objects.select_related("dataset", "model").filter(
            pk__in=[run.record.id for run in runs], source__isnull=False
        ):
            answers = run_imported.send(Run, run=imported)
            found.notes += [note for _, note in answers if note]
    return found
