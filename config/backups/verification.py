"""The check of a backup: every byte against the manifest."""

from __future__ import annotations

import re
from pathlib import Path

from benchmark.management.progress import progress_bar
from config.backups.errors import BackupError
from config.backups.files import digest_of, stored_blobs
from config.backups.manifest import NAME, Manifest, digest_of_names

_FOLDER = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z(?:-2)*")


def backups_in(folder: Path) -> list[Path]:
    """Return the backups in a folder, the newest first."""
    found = (path for path in folder.iterdir() if _FOLDER.fullmatch(path.name) and (path / NAME).exists())
    return sorted(found, key=lambda path: path.name, reverse=True)


def newest_backup(folder: Path) -> Path:
    """Return the folder itself if it is a backup, else the newest backup in it. Raises BackupError if it has none."""
    if not folder.is_dir():
        raise BackupError(f"{folder} is not a folder.")
    if (folder / NAME).exists():
        return folder
    found = backups_in(folder)
    if not found:
        raise BackupError(f"{folder} is not a backup and contains none: no {NAME} was found.")
    return found[0]


def verify(folder: Path) -> Manifest:
    """Return the manifest of a backup after a check of each file. Raises BackupError for a damaged backup."""
    manifest = Manifest.read(folder)
    bar = progress_bar(total=manifest.bytes, desc="check", unit="B", unit_scale=True)
    with bar:
        for name, file in manifest.files.items():
            path = folder / name
            if not path.is_file():
                raise BackupError(f"The backup is damaged: {path} is missing.")
            if path.stat().st_size != file.bytes or digest_of(path, bar.update) != file.sha256:
                raise BackupError(f"The backup is damaged: {path} differs from its digest.")
        names = []
        for path in stored_blobs(folder):
            if digest_of(path, bar.update) != path.name:
                raise BackupError(f"The backup is damaged: {path} differs from its digest.")
            names.append(path.name)
    if len(names) != manifest.blobs.count or digest_of_names(names) != manifest.blobs.sha256:
        raise BackupError(
            f"The backup is damaged: it has {len(names)} blobs instead of {manifest.blobs.count}, or different ones."
        )
    return manifest
