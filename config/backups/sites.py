"""What identifies a site and its state, read with plain queries, so that it works in databases of older versions."""

from __future__ import annotations

import hashlib

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def site_id() -> str:
    """Return a hash of the salt of the pseudonyms, which differs between sites; blank without a salt."""
    if "accounts_pseudonymsalt" not in connection.introspection.table_names():
        return ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT salt FROM accounts_pseudonymsalt")
        found = cursor.fetchone()
    return hashlib.sha256(b"site\0" + bytes(found[0])).hexdigest()[:16] if found else ""


def applied_migrations() -> list[tuple[str, str]]:
    """Return apps and names of the migrations that were applied to the database."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def unknown_migrations(migrations: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those migrations that this version does not have."""
    known = MigrationLoader(None, replace_migrations=False).disk_migrations
    apps = {app for app, _ in known}
    return [one for one in migrations if one[0] in apps and one not in known]
