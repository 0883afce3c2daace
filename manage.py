#!/usr/bin/env python
"""Run a management command; `python manage.py help` lists them."""

import gc
import os
import sys

# Before the import of Django: it creates many objects and no garbage, and collections would take 10 % of a start.
gc.set_threshold(50_000, 20, 100)

from django.core.management import execute_from_command_line  # noqa: E402
from django.db import DatabaseError  # noqa: E402

from config.version import VERSION  # noqa: E402


def _refuse_unready_database() -> None:
    """End with a sentence if the database cannot be reached or lacks tables."""
    from config.doctor import state_of_database  # loads much that no other command needs

    found = state_of_database()
    if not found.ok:
        sys.stderr.write(f"The database is not ready: {found.detail}\n{found.fix}\n")
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would print its own version
        sys.stdout.write(f"Hintbench {VERSION}\n")
        sys.exit()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] not in (["streamer"], ["worker"]):
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # lines for each step would hide what a command prints
    try:
        execute_from_command_line(sys.argv)
    except DatabaseError:
        if "--traceback" not in sys.argv:
            _refuse_unready_database()
        raise
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Stored results are kept.\n")
        sys.exit(130)  # the exit status of shells for SIGINT
