"""Backups of a site: database, blobs and secrets in one folder with a manifest (docs/operator.md)."""

from config.backups.errors import BackupError
from config.backups.manifest import Manifest
from config.backups.restoring import Restored, restore, stopped_site
from config.backups.verification import newest_backup, verify
from config.backups.writing import Written, write_backup

__all__ = [
    "BackupError",
    "Manifest",
    "Restored",
    "Written",
    "newest_backup",
    "restore",
    "stopped_site",
    "verify",
    "write_backup",
]
