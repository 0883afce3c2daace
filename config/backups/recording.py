"""The row and the words of a written backup."""

from __future__ import annotations

from benchmark.models import Backup
from config.backups.writing import Written
from tutoring.withdrawal import write_register


def record(written: Written) -> None:
    """Store that the backup was written, for the page *Status*, and write the register of withdrawals beside it."""
    manifest = written.manifest
    Backup.objects.create(
        at=manifest.created_at,
        seconds=manifest.seconds,
        bytes=manifest.bytes,
        host=manifest.host[:200],
        folder=str(written.folder)[:500],
    )
    write_register(written.folder.parent)


def describe(written: Written) -> str:
    """Return what was written, deleted and not readable, in lines."""
    manifest = written.manifest
    lines = [
        f"Backup {written.folder}: {manifest.bytes / 1e6:,.1f} MB in {manifest.seconds:.1f} s; "
        f"{sum(manifest.rows.values()):,} rows in {len(manifest.rows)} tables, {manifest.blobs.count:,} blobs."
    ]
    if manifest.key_source == "environment":
        lines.append(
            "The secret key is set by SECRET_KEY, so the backup does not contain it. Keep it elsewhere."
        )
    if manifest.blobs.unreadable:
        lines.append(
            f"{len(manifest.blobs.unreadable)} blobs of this site are missing or damaged, so the backup does not "
            f"contain them: {', '.join(manifest.blobs.unreadable[:3])} … Import their problems again."
        )
    if written.deleted:
        lines.append(f"Deleted {len(written.deleted)} older backups.")
    return "\n".join(lines)
