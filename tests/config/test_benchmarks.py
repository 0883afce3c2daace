"""Each benchmark starts from a plain interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_benchmark_is_imported_without_settings():
    """A benchmark configures Django after its import, if it needs it at all."""
    modules = [
        f"benchmarks.{path.stem}"
        for path in sorted((REPOSITORY / "benchmarks").glob("*.py"))
        if "__main__" in path.read_text()
    ]
    assert len(modules) > 10
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(
        [sys.executable, "-c", f"import {', '.join(modules)}"], cwd=REPOSITORY, env=environment, check=True
    )


@pytest.mark.slow
def test_the_stopwatch_finds_the_functions_of_all_steps():
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchmarks.stopwatch"}
    subprocess.run(
        [sys.executable, "-c", "import django; django.setup()"], cwd=REPOSITORY, env=environment, check=True
    )
