"""manage.py judge: a program on a stored problem."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import judge
from benchmark.models import Judgement, Submission, blobs
from tests.benchmark.reference_problems import HIDDEN_NUMBER, store_doubling

pytestmark = [pytest.mark.usefixtures("sandbox"), pytest.mark.django_db]

RIGHT = "print(2 * int(input()))"
WRONG_ON_HIDDEN = "import sys\nn = int(input())\nprint(6 if n == 3 else n)\nprint(n, file=sys.stderr)\n"


@pytest.fixture(autouse=True)
def doubling(db: None) -> None:
    store_doubling()


def run(file: Path, *arguments: str, problem: str = "small/doubling") -> str:
    output = io.StringIO()
    call_command("judge", str(file), "--problem", problem, *arguments, stdout=output)
    return output.getvalue()


def program(folder: Path, source: str, name: str = "program.py") -> Path:
    file = folder / name
    file.write_text(source)
    return file


def document(file: Path, *arguments: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(run(file, *arguments, "--json"))
    return loaded


def test_the_document_holds_what_scripts_rely_on(tmp_path: Path) -> None:
    file = program(tmp_path, RIGHT)
    told = document(file)
    assert told.keys() == {
        "problem", "file", "language", "policy", "time_limit", "memory_limit", "verdict", "passed", "total",
        "tests", "compiler_output", "isolation", "judge_version", "samples_only", "near_limit", "time_factor",
    }  # fmt: skip
    assert (told["problem"], told["file"], told["language"]) == ("small/doubling", str(file), "python")
    assert (told["policy"], told["verdict"], told["passed"], told["total"]) == ("fair", "AC", 2, 2)
    assert [test["sample"] for test in told["tests"]] == [True, False]
    assert all(test.keys() == {"name", "verdict", "time", "memory", "sample"} for test in told["tests"])
    assert told["judge_version"] == judge.JUDGE_VERSION
    assert not Submission.objects.exists()
    assert not Judgement.objects.exists()


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("source", [WRONG_ON_HIDDEN, "n = int(input())\nassert n == 3, n\nprint(6)"])
def test_nothing_of_a_hidden_test_is_shown(tmp_path: Path, source: str, form: list[str]) -> None:
    told = run(program(tmp_path, source), *form)
    assert "hidden-1" in told
    assert str(HIDDEN_NUMBER) not in told
    assert str(2 * HIDDEN_NUMBER) not in told


def test_the_text_says_what_went_wrong_on_a_sample_and_what_the_verdict_means(tmp_path: Path) -> None:
    told = run(program(tmp_path, "print(5)"))
    assert "expected '6', got '5'" in told
    assert judge.VERDICT_MEANING[judge.Verdict.WA] in told
    assert "0 of 2" in told


def test_judging_stops_at_the_first_failure_unless_all_tests_are_wanted(tmp_path: Path) -> None:
    file = program(tmp_path, "print(5)")
    assert len(document(file)["tests"]) == 1
    assert [test["verdict"] for test in document(file, "--all-tests")["tests"]] == ["WA", "WA"]


def test_a_usaco_problem_is_compared_exactly_under_compat(tmp_path: Path) -> None:
    store_doubling("two words").tests.update(answer_hash=blobs.put(b"a b\n"))
    spaced = program(tmp_path, "print('a  b')")
    verdicts = {}
    for policy in ("fair", "compat"):
        told = json.loads(run(spaced, "--policy", policy, "--json", problem="small/two words"))
        verdicts[told["policy"]] = told["verdict"]
    assert verdicts == {"fair": "AC", "compat": "WA"}


def test_the_compilers_words_are_shown(tmp_path: Path) -> None:
    file = program(tmp_path, "int main() { return undeclared; }", "program.txt")
    told = document(file, "--language", "cpp")
    assert told["verdict"] == "CE"
    assert "undeclared" in told["compiler_output"]


def test_invalid_arguments_are_refused_with_the_reason(tmp_path: Path) -> None:
    file = program(tmp_path, RIGHT)
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# caf\xe9\n")
    for wrong, words in [
        (lambda: run(file, problem="small/dubling"), "Did you mean doubling"),
        (lambda: run(file, problem="smal/doubling"), "There are: small"),
        (lambda: run(file, problem="doubling"), "DATASET/ID"),
        (lambda: run(tmp_path / "missing.py"), "missing.py cannot be read"),
        (lambda: run(latin), "latin.py cannot be read"),
        (lambda: run(file, "--language", "klingon"), "python"),
        (lambda: run(program(tmp_path, RIGHT, "program.kling")), "--language"),
    ]:
        with pytest.raises(CommandError, match=words):
            wrong()


def test_a_judge_fault_is_reported_and_fails_the_command(tmp_path: Path) -> None:
    problem = store_doubling("broken")
    problem.tests.filter(origin="hidden").update(answer_hash="f" * 64)
    output = io.StringIO()
    with pytest.raises(CommandError, match="The judge failed"):
        call_command(
            "judge", str(program(tmp_path, RIGHT)), "--problem", "small/broken", "--json", stdout=output
        )
    assert json.loads(output.getvalue())["verdict"] == "JE"
    assert not blobs.path("f" * 64).exists()


def test_a_program_may_be_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "main.py").write_text("from twice import twice\nprint(twice(int(input())))")
    (folder / "twice.py").write_text("def twice(n): return 2 * n")
    assert (document(folder)["verdict"], document(folder)["language"]) == ("AC", "python")
    (folder / "notes").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="cannot be read"):
        run(folder)


def test_a_program_may_use_the_files_it_names(tmp_path: Path) -> None:
    source = "print(2 * int(open('double.in').read()), file=open('double.out', 'w'))"
    assert document(program(tmp_path, source))["verdict"] == "AC"
