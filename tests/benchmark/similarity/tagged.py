"""Fills a database with our tagged problems and their questions, in a separate process."""

from pathlib import Path

from django.core.management import call_command

from tests.benchmark.runs.processes import use_var
from tests.stack import REPOSITORY

TAGGED = REPOSITORY / "benchmark" / "similarity" / "tagged_problems.yaml"


def make_tagged(var: Path) -> None:
    """Store the dataset `tagged` and the questions `alike`."""
    use_var(var)
    with (var / "made.txt").open("w") as output:
        call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=output)
        call_command("build_mcqs", dataset="tagged", name="alike", stdout=output)
