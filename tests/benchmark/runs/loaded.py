"""Loads what the commands need, before they are forked off; opens no connection."""

from pathlib import Path

import dj_database_url
import django
from django.conf import settings
from django.core.management import call_command
from django.db import connections

django.setup()

import scipy.stats  # noqa: E402, F401  (figures need it: most of the time that a small run takes)

import benchmark.management.commands.report  # noqa: E402
import benchmark.management.commands.run_baseline  # noqa: E402
import benchmark.providers.anthropic_messages  # noqa: E402
import benchmark.providers.openai_chat  # noqa: E402, F401
from benchmark.providers.endpoint import trusted_certificates  # noqa: E402
from tests.benchmark.runs.bank import fill  # noqa: E402

trusted_certificates()  # is kept by the process


def use_var(var: Path, database: str = "") -> None:
    """Make `var` this process's HINTBENCH_VAR, its database included unless the URL of another one is given."""
    settings.VAR = var
    settings.BLOBS = var / "blobs"
    default = connections.settings["default"]
    if database:
        default |= dj_database_url.parse(database) | {"OPTIONS": {}}
        connections["default"] = connections.create_connection("default")
    else:
        default["NAME"] = str(var / "hintbench.sqlite3")


def make_bank(var: Path, database: str = "") -> None:
    """Tables and problems in a new `var`."""
    use_var(var, database)
    call_command("migrate", run_syncdb=True, verbosity=0)
    fill()
