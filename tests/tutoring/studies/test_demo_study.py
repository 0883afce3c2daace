"""`manage.py demo_study` and rehearsals, without a network and without other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from tests.cached_fixtures import add_database
from tests.tutoring.studies.conftest import FreezeFactory


def manage(repository: Path, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "HINTBENCH_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "manage.py", *arguments]
    result = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_demonstration_holds_and_closes_a_simulated_study(tmp_path: Path, repository: Path):
    folder = add_database(tmp_path)
    said = manage(repository, folder, "demo_study")
    assert "16 sessions held through the tutors' pages." in said
    assert "demo-study v1 is closed." in said
    assert "Every figure of it is simulated" in said
    again = manage(repository, folder, "demo_study")
    assert "demo-study v1 exists and is closed" in again
    studies = json.loads(manage(repository, folder, "study", "list", "--json"))
    states = {one["name"]: (one["state"], one["rehearsal"], one["done"], one["assigned"]) for one in studies}
    assert states == {"demo-study": ("closed", True, 40, 40), "demo-draft": ("draft", True, 0, 0)}
    verified = json.loads(manage(repository, folder, "study", "verify", "demo-study", "--json"))
    assert verified["faults"] == []


def test_only_rehearsals_of_simulated_students_are_rehearsed(freeze: FreezeFactory, tutors: list[User]):
    freeze(name="real")
    with pytest.raises(CommandError, match="real v1 is not a rehearsal"):
        call_command("study", "rehearse", "real")
    freeze(name="paid", rehearsal=True)
    with pytest.raises(CommandError, match="Simulated tutors tutor simulated:WORLD only"):
        call_command("study", "rehearse", "paid")
