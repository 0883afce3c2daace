"""The manifest of a backup: what it contains, of which site, by which version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from config.backups.errors import BackupError

NAME = "manifest.json"

FORMAT: Final = "hintbench-backup/1"


class StoredFile(BaseModel):
    """The size and the digest of a file of the backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bytes: int
    sha256: str


class StoredBlobs(BaseModel):
    """The blobs of the backup. Each file is named by its digest, so `sha256` covers the sorted names only."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int
    bytes: int
    sha256: str
    unreadable: list[str]
    """Digests of blobs that the site named and could not read, or whose bytes were damaged. They are not included."""


class Manifest(BaseModel):
    """The content of `manifest.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["hintbench-backup/1"]
    site: str
    """Hash of the salt of the pseudonyms, equal for all backups of a site; blank for versions without a salt."""
    version: str
    created_at: datetime
    seconds: float
    host: str
    database: Literal["sqlite", "postgresql"]
    database_version: str
    migrations: list[tuple[str, str]]
    """Apps and names of the applied migrations."""
    rows: dict[str, int]
    """Numbers of rows by table."""
    files: dict[str, StoredFile]
    blobs: StoredBlobs
    key_source: Literal["file", "environment"]
    """Where the site has its secret key; that of the environment is not included."""

    @property
    def bytes(self) -> int:
        """Return the size of everything in the backup."""
        return self.blobs.bytes + sum(file.bytes for file in self.files.values())

    def write(self, folder: Path) -> None:
        """Write the manifest, with a digest of its own, into the folder."""
        content = self.model_dump(mode="json")
        document = content | {"sha256": _digest(content)}
        (folder / NAME).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a backup. Raises BackupError for a missing, damaged or unknown one."""
        path = folder / NAME
        try:
            document = json.loads(path.read_bytes())
            digest = document.pop("sha256")
            found = document["format"]
        except FileNotFoundError:
            raise BackupError(f"{folder} is not a backup: it has no {NAME}.") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BackupError(f"{path} is damaged, or no manifest of a backup.") from None
        if found != FORMAT:
            raise BackupError(f"{path} has the format {found!r}; this version reads {FORMAT}.")
        if digest != _digest(document):
            raise BackupError(f"{path} is damaged: its digest differs from its content.")
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise BackupError(f"{path} has invalid fields: {error}") from None


def digest_of_names(names: Iterable[str]) -> str:
    """Return the sha256 of the sorted names, one per line."""
    return hashlib.sha256("".join(f"{name}\n" for name in sorted(names)).encode()).hexdigest()


def _digest(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
