"""manage.py retrieve --corpus: the article of a textbook that fits a problem best."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Dataset
from tests.benchmark.retrieval.conftest import AddProblem

ARGUMENTS = ("retrieve", "--dataset", "farm", "--problem", "1", "--top", "1", "--corpus")


@pytest.fixture
def farm(add_problem: AddProblem) -> Dataset:
    dataset = Dataset.objects.create(name="farm", format="usaco")
    add_problem(dataset, "1", "Find the maximum flow through the network with augmenting paths.")
    return dataset


def test_a_search_of_the_real_textbook_finds_flows(
    farm: Dataset, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_corpus", "cpbook", str(shared_data / "corpora" / "cpbook_v2.json"))
    capsys.readouterr()
    call_command(*ARGUMENTS, "cpbook", "--json")
    [hit] = json.loads(capsys.readouterr().out)["results"]
    assert hit["id"] == "graph/edmonds_karp.md"


def test_unknown_textbooks_are_refused_with_the_known_names(farm: Dataset, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"There is none yet; `manage.py import_corpus` makes one"):
        call_command(*ARGUMENTS, "book")
    (tmp_path / "flows.md").write_text("# Flows\n\nMaximum flow.")
    call_command("import_corpus", "markdown", str(tmp_path), "--corpus", "notes")
    with pytest.raises(CommandError, match=r"There is no corpus 'book'\. There are: notes"):
        call_command(*ARGUMENTS, "book")
    with pytest.raises(CommandError, match="--exclude-same-name cannot be used with --corpus"):
        call_command(*ARGUMENTS, "notes", "--exclude-same-name")
