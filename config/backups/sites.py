"""What identifies a site and its state, readable in databases of older versions."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from accounts.models import PseudonymSalt
from accounts.pseudonyms import site_id


def site_of_database() -> str:
    """Return `accounts.pseudonyms.site_id` of a database of any version; blank if it has no salt."""
    return site_id() if PseudonymSalt._meta.db_table in connection.introspection.table_names() else ""


def applied_migrations() -> list[tuple[str, str]]:
    """Return apps and names of the migrations that were applied to the database."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def unknown_migrations(migrations: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those migrations that this version does not have."""
    known = MigrationLoader(None, replace_migrations=False).disk_migrations
    apps = {app for app, _ in known}
    return [one for one in migrations if one[0] in apps and one not in known]
