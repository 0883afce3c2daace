#!/usr/bin/env python
"""Runs the management commands: `python manage.py help` lists them."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. What was stored stays.\n")
        sys.exit(130)  # as shells say it
