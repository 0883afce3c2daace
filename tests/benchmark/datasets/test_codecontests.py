"""Import of CodeContests rows with right and wrong programs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Problem

ROW: dict[str, Any] = {
    "name": "1575_A. Sums",
    "description": "Print the sum.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["1 2\n", "2 2\n"], "output": ["3\n", "4\n"]},
    "generated_tests": {"input": ["5 5\n"], "output": ["10\n"]},
    "source": 2,
    "difficulty": 7,
    "solutions": {"language": [1, 3, 3, 2], "solution": ["print 3", "print(3)", "print(3)", "int main() {}"]},
    "incorrect_solutions": {"language": [2], "solution": ["int main() { return 1; }"]},
    "cf_contest_id": 1575,
    "cf_index": "A",
    "cf_rating": 1100,
    "cf_tags": ["math", ""],
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
    "memory_limit_bytes": 64_000_000,
    "input_file": "",
    "output_file": "",
}


@pytest.mark.django_db
def test_a_problem_comes_with_tests_limits_and_both_kinds_of_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = ROW | {"name": "bare", "time_limit": None, "memory_limit_bytes": 0}
    filed = ROW | {"name": "filed", "input_file": "input.txt"}
    uneven = ROW | {"name": "uneven", "private_tests": {"input": ["1 2\n", "2 2\n"], "output": ["3\n"]}}
    lacking = ROW | {"name": "lacking", "solutions": {"language": [3, 3], "solution": ["print(3)"]}}
    with gzip.open(tmp_path / "train.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in (ROW, bare, filed, uneven, lacking))
    call_command("import_problems", "codecontests", str(tmp_path), "--dataset", "contests", "--json")
    result = json.loads(capsys.readouterr().out)
    assert (result["imported"], result["left_out"]) == (
        3,
        [
            {"id": "filed", "reason": "its programs read or write files"},
            {"id": "uneven", "reason": "its private_tests have 2 inputs and 1 outputs"},
        ],
    )
    assert {note["id"] for note in result["notes"]} == {"bare", "lacking"}
    problem = Problem.objects.get(external_id="1575_A. Sums")
    assert (problem.title, problem.time_limit, problem.rating, problem.tags) == ("Sums", 1.5, 1100, ["math"])
    assert problem.source_url.endswith("/1575/A")
    assert [case.name for case in problem.tests.all()] == ["public-1", "private-2", "generated-1"]
    assert [one.language for one in problem.references.all()] == ["python", "cpp"]
    assert [(one.role, one.language) for one in problem.package_programs.all()] == [("wrong", "cpp")]


@pytest.mark.django_db
def test_the_forms_of_the_published_converter_are_read_and_riegeli_is_refused_with_a_way_out(
    tmp_path: Path,
) -> None:
    pairs = {
        f"{kind}_tests": [
            {"input": given, "output": answer}
            for given, answer in zip(
                ROW[f"{kind}_tests"]["input"], ROW[f"{kind}_tests"]["output"], strict=True
            )
        ]
        for kind in ("public", "private", "generated")
    }
    programs = {"solutions": [{"language": 3, "solution": "print(3)"}], "incorrect_solutions": []}
    converted = ROW | pairs | programs | {"time_limit": "seconds: 1\nnanos: 500000000\n"}
    path = tmp_path / "code_contests_train.00000-of-00128.json"
    path.write_text(json.dumps([converted]))
    call_command("import_problems", "codecontests", str(tmp_path), "--dataset", "converted")
    problem = Problem.objects.get(dataset__name="converted")
    assert (problem.time_limit, problem.tests.count(), problem.references.count()) == (1.5, 3, 1)

    (tmp_path / "code_contests_train.riegeli-00000-of-00128").write_bytes(b"")
    with pytest.raises(CommandError, match=r"deepmind/code_contests .* convert_riegeli_to_json"):
        call_command("import_problems", "codecontests", str(tmp_path), "--dataset", "more")
