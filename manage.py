#!/usr/bin/env python
"""Run a management command; `python manage.py help` lists them."""

import gc
import os
import sys

# Before Django is imported: it creates many objects and no garbage, and collections would take 10 % of a start.
gc.set_threshold(50_000, 20, 100)

from config.command_line import CommandLine  # noqa: E402
from config.version import VERSION  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would print its own version
        sys.stdout.write(f"Hintbench {VERSION}\n")
        sys.exit()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] not in (["streamer"], ["worker"]):
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # lines for each step would hide what a command prints
    try:
        CommandLine(sys.argv).execute()
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Stored results are kept.\n")
        sys.exit(130)  # the exit status of shells for SIGINT
