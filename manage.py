#!/usr/bin/env python
"""Runs the management commands: `python manage.py help` lists them."""

import gc
import os
import sys

# Before Django: loading makes objects by the hundred thousand and no garbage; looking for it takes a tenth of a start.
gc.set_threshold(50_000, 20, 100)

from django.core.management import execute_from_command_line  # noqa: E402

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. What was stored stays.\n")
        sys.exit(130)  # as shells say it
