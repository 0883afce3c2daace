"""The register of withdrawals: a file beside the backups, which a restore applies to an older database."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import structlog

from accounts.pseudonyms import site_id
from benchmark.models import Backup
from tutoring.models import Withdrawal

logger = structlog.get_logger(__name__)

REGISTER = "withdrawals.json"
"""The name of the file."""


def write_register(folder: Path) -> None:
    """Write the withdrawals of this site into the file of the folder, which may hold those of other sites too."""
    known = {entry["id"]: entry for entry in _read(folder)}
    known |= {entry["id"]: {**entry, "site": site_id()} for entry in entries()}
    new = folder / f"{REGISTER}.new"
    new.touch(mode=0o600)
    new.write_text(json.dumps(sorted(known.values(), key=lambda entry: str(entry["at"])), indent=1) + "\n")
    new.replace(folder / REGISTER)


def read_register(folder: Path, site: str) -> list[dict[str, Any]]:
    """Return the withdrawals of the site in the file of the folder; none without a file. Raises ValueError."""
    return [entry for entry in _read(folder) if entry["site"] == site]


def _read(folder: Path) -> list[dict[str, Any]]:
    path = folder / REGISTER
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def entries() -> list[dict[str, Any]]:
    """Return the withdrawals of this database as JSON."""
    return [
        {
            "id": str(row.pk),
            "cause": row.cause,
            "account": row.account,
            "at": row.at.isoformat(),
            "counts": row.counts,
            "sessions": [str(one.pk) for one in row.sessions.all()],
        }
        for row in Withdrawal.objects.prefetch_related("sessions").order_by("at")
    ]


def update_registers() -> None:
    """Write the registers beside all backups of this host. One that cannot be written is reported in the log."""
    folders = Backup.objects.filter(host=platform.node()).values_list("folder", flat=True)
    for folder in {Path(one).parent for one in folders}:
        if not folder.is_dir():
            continue
        try:
            write_register(folder)
        except (OSError, ValueError) as error:
            logger.error("withdrawal not registered beside backups", folder=str(folder), fault=str(error))
