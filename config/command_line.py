"""The command line of `manage.py`."""

from __future__ import annotations

import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.db import DatabaseError

OWN_PACKAGES = frozenset({"config", "accounts", "judge", "benchmark", "tutoring"})


class CommandLine(ManagementUtility):
    """The commands of Django, of the libraries and of Hintbench; those of Hintbench start without system checks.

    The checks import all pages. No command of Hintbench needs them: `upgrade` calls `check` itself. The commands of
    Django keep theirs.
    """

    def execute(self) -> None:
        """Execute the command.

        Ends the process with a sentence if a variable has a wrong value, or if the database cannot be reached or lacks
        tables. With `--traceback` it raises ImproperlyConfigured and DatabaseError.
        """
        try:
            super().execute()
        except (ImproperlyConfigured, DatabaseError) as error:
            if "--traceback" in self.argv:
                raise
            if isinstance(error, ImproperlyConfigured):
                sys.stderr.write(f"{error}\n")
                sys.exit(1)
            _refuse_unready_database()
            raise

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command. Ends the process with a message for an unknown one."""
        command = super().fetch_command(subcommand)
        if command.__module__.partition(".")[0] in OWN_PACKAGES:
            command.requires_system_checks = []
        return command


def _refuse_unready_database() -> None:
    from config.doctor import state_of_database  # loads much that no other command needs

    found = state_of_database()
    if not found.ok:
        sys.stderr.write(f"The database is not ready: {found.detail}\n{found.fix}\n")
        sys.exit(1)
