"""Fills a database with our tagged problems and their questions, in a process of its own."""

from pathlib import Path

from tests.benchmark.runs.loaded import use_var
from tests.stack import REPOSITORY

TAGGED = REPOSITORY / "benchmark" / "similarity" / "tagged_problems.yaml"


def make_tagged(var: Path) -> None:
    """Tables, the dataset `tagged` and the questions `alike` in a new `var`."""
    from django.core.management import call_command

    use_var(var)
    call_command("migrate", run_syncdb=True, verbosity=0)
    with (var / "made.txt").open("w") as output:
        call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=output)
        call_command("build_mcqs", dataset="tagged", name="alike", stdout=output)
