"""Import of the files released with ALGO: problems, stored programs with verdicts, invalid folders."""

import json
import shutil
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Problem, Verifier, blobs

pytestmark = pytest.mark.django_db


def run(path: Path) -> dict[str, Any]:
    output = StringIO()
    call_command("import_problems", "algo", str(path), "--dataset", "algo", "--json", stdout=output)
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


def test_the_released_files_are_imported_whole_and_once(shared_data: Path) -> None:
    assert run(shared_data / "algo") == run(shared_data / "algo") | {"imported": 35, "unchanged": 0}
    problem = Problem.objects.get(external_id="2641")
    assert problem.title == "Cousins in Binary Tree II"
    assert problem.signature == {
        "method": "replaceValueInTree",
        "parameters": ["Optional[TreeNode]"],
        "result": "Optional[TreeNode]",
    }
    assert problem.contest_date == date(2023, 4, 15)
    assert problem.samples_only
    assert [blobs.read(case.answer_hash) for case in problem.tests.all()] == [
        b"[0,0,0,7,7,null,11]\n",
        b"[0,0,0]\n",
    ]
    assert [one.official_verdict for one in problem.candidates.all()] == ["WA"]
    verifiers = Verifier.objects.all()
    assert len(verifiers) == 35
    verdicts = [one.official_verdict for one in verifiers]
    assert {name: verdicts.count(name) for name in set(verdicts)} == {"AC": 11, "TLE": 12, "WA": 9, "RTE": 3}


def test_a_problem_without_outputs_is_left_out_and_another_folder_refused(
    shared_data: Path, tmp_path: Path
) -> None:
    source = shared_data / "algo" / "leetcode_data"
    folder = tmp_path / "leetcode_data"
    folder.mkdir()
    metadata = json.loads((source / "metadata.json").read_text())
    metadata["problems"] = metadata["problems"][:2]
    (folder / "metadata.json").write_text(json.dumps(metadata))
    shutil.copy(source / "2582.md", folder)
    (folder / "2583.md").write_text((source / "2583.md").read_text().replace("Output: 13", "Output: many"))
    result = run(tmp_path)
    assert result["imported"] == 1
    assert result["left_out"] == [
        {"id": "2583", "reason": "the output 'many' of sample 1 is not a JSON value"}
    ]
    assert not Verifier.objects.exists()
    with pytest.raises(
        CommandError, match=r"metadata\.json does not exist; the format algo needs the folder"
    ):
        run(shared_data / "usaco")
