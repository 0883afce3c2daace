"""A new dataset format needs one importer and its entry in the registry, and no change anywhere else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.test import Client

from benchmark import judging
from benchmark.datasets import ImportedProblem, Importer, SkippedEntry, formats
from benchmark.datasets.records import Source, TestRecord
from benchmark.models import Problem
from judge import Checker

pytestmark = pytest.mark.django_db

NAME = "throwaway"


@contextmanager
def open_sums(path: Path) -> Iterator[Source]:
    """Open a file with one line per problem: identifier, input and answer."""
    lines = path.read_text().splitlines()
    yield Source(len(lines), (read_sum(line) for line in lines))


def read_sum(line: str) -> ImportedProblem | SkippedEntry:
    identifier, *rest = line.split(";")
    if len(rest) != 2:
        return SkippedEntry(identifier, "it has no test")
    given, answer = rest
    return ImportedProblem(
        external_id=identifier,
        title=f"Sum {identifier}",
        statement="Add the numbers.",
        statement_format="markdown",
        time_limit=2.0,
        memory_limit=256 * 2**20,
        checker=Checker().to_json(),
        tests=(TestRecord("sample-1", True, given.encode(), answer.encode()),),
    )


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formats(), NAME, Importer(NAME, "a file of sums", open_sums))


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    path = tmp_path / "sums.txt"
    path.write_text("one;1 2;3\nbroken\n")
    return path


@pytest.mark.usefixtures("registered")
def test_the_help_lists_a_registered_format_with_its_source() -> None:
    command = load_command_class("benchmark", "import_problems")
    text = " ".join(command.create_parser("manage.py", "import_problems").format_help().split())
    assert f"{NAME}: a file of sums" in text
    for name, importer in formats().items():
        assert f"{name}: {importer.source}" in text.replace("- ", "-")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.usefixtures("registered")
def test_a_registered_format_is_imported_judged_and_shown(sums: Path, admin_client: Client) -> None:
    output = StringIO()
    call_command("import_problems", NAME, str(sums), "--dataset", "sums", "--json", stdout=output)
    result = json.loads(output.getvalue())
    assert (result["imported"], result["left_out"]) == (1, [{"id": "broken", "reason": "it has no test"}])

    problem = Problem.objects.get()
    assert problem.dataset.format == NAME
    submission = judging.store_submission(problem, "print(sum(map(int, input().split())))", "python")
    judgement = judging.request_judgement(submission)
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.state, judgement.verdict) == ("done", "AC")

    page = admin_client.get(problem.get_absolute_url()).content.decode()
    assert "Sum one" in page
    assert "Add the numbers." in page


@pytest.mark.usefixtures("registered")
def test_a_format_without_separate_tests_refuses_a_folder_of_tests(sums: Path) -> None:
    with pytest.raises(CommandError, match="no separate hidden tests: omit --tests"):
        call_command("import_problems", NAME, str(sums), "--dataset", "sums", f"--tests={sums.parent}")


def test_a_format_that_is_not_registered_is_refused(sums: Path) -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("import_problems", NAME, str(sums), "--dataset", "sums")
