"""Import of ICPC-Eval's problems, and scores of its result files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark import judging
from benchmark.models import Problem, blobs

ROW = {
    "id": 7,
    "title": "Lamps",
    "description": "Count the lamps.",
    "input": "A number $n$.",
    "output": "A number.",
    "note": "",
    "year": 2024,
    "source": "Regional",
    "problem_label": "L",
    "qoj_url": "https://qoj.ac/problem/7",
    "type": "traditional",
    "tags": ["math"],
    "time_limit_ms": 1500,
    "memory_limit_mb": 256,
    "examples": [["1\n", "1\n"]],
    "test_cases": [["1 \n", "1\n"], ["2\n", "2\n"]],
    "spj_code": "",
}
SPECIAL = ROW | {"id": 8, "type": "spj", "spj_code": "int main() { return 0; }"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def command(*arguments: str) -> Any:
        call_command(*arguments, "--json")
        return json.loads(capsys.readouterr().out)

    return command


@pytest.mark.django_db
def test_rows_become_problems_and_what_cannot_be_judged_is_named(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "test.jsonl"
    broken = [
        ROW | {"id": 9, "type": "spj"},
        ROW | {"id": 10, "interaction": "yes"},
        ROW | {"id": 11, "test_cases": []},
    ]
    path.write_text("\n".join(json.dumps(row) for row in (ROW, SPECIAL, *broken)))
    arguments = ("import_problems", "icpc-eval", str(path), "--dataset", "eval")
    result = run(*arguments)
    assert result["imported"] == 2
    assert {entry["id"]: entry["reason"].split()[0] for entry in result["left_out"]} == {
        "9": "its",
        "10": "it",
        "11": "it",
    }
    assert run(*arguments)["unchanged"] == 2
    problem = Problem.objects.get(external_id="7")
    assert (problem.time_limit, problem.memory_limit, problem.contest) == (1.5, 256 * 2**20, "Regional 2024")
    assert "## Sample output 1\n\n    1" in problem.statement
    tests = [(case.name, case.origin, blobs.read(case.input_hash)) for case in problem.tests.all()]
    assert tests == [("sample-1", "sample", b"1\n"), ("2", "hidden", b"2\n")], (
        "a hidden sample is not tested twice"
    )
    special = Problem.objects.get(external_id="8").checker
    assert (special["kind"], special["program"]["language"], special["program"]["limits"]["time"]) == (
        "special",
        "cpp23",
        10,
    )


@pytest.mark.django_db
def test_parquet_is_read_row_by_row_or_the_missing_package_named(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "test-00000.parquet"
    path.write_bytes(b"PAR1")
    try:
        import pyarrow  # type: ignore[import-not-found]
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(CommandError, match="pip install pyarrow"):
            run("import_problems", "icpc-eval", str(path), "--dataset", "eval")
        return
    with pytest.raises(CommandError, match="fetch it again"):
        run("import_problems", "icpc-eval", str(path), "--dataset", "eval")
    parquet.write_table(pyarrow.Table.from_pylist([ROW, SPECIAL]), path, row_group_size=1)
    assert run("import_problems", "icpc-eval", str(tmp_path), "--dataset", "eval")["imported"] == 2


def attempt(number: int, verdict: str | None, output: str = "reply", tokens: int = 100) -> dict[str, Any]:
    details = {"success": verdict == "Accepted", "verdict": verdict}
    return {
        "attempt_number": number,
        "output": output,
        "token_count": tokens,
        "submission": {"time": 1, "details": details} if verdict else None,
    }


def test_a_result_file_is_scored_again_from_its_attempts(tmp_path: Path, run: Callable[..., Any]) -> None:
    problems = [
        {"id": 1, "final_status": "Accepted", "attempts": [attempt(1, "Accepted")]},
        {
            "id": 2,
            "final_status": "Accepted",
            "attempts": [attempt(1, None), attempt(2, "", output=""), attempt(3, "Accepted")],
        },
        {"id": 3, "final_status": "Accepted", "attempts": [attempt(n, "Wrong Answer") for n in range(1, 6)]},
        {"id": 4, "final_status": "Failed", "attempts": []},
        {"id": 5, "eval_status": "Running", "attempts": [attempt(1, "Wrong Answer")]},
    ]
    path = tmp_path / "eval_results_model.json"
    path.write_text(
        json.dumps({"summary": {"total_problems": 4, "passed_problems": 3}, "detailed_results": problems})
    )
    [scored] = run("refinement", str(path))["refinements"]
    assert [point["value"] for point in scored["refine"]] == [0.25, 0.25, 0.5, 0.5, 0.5]
    assert (scored["mean_attempts_per_solved"], scored["tokens"]) == (2.0, 900)
    assert scored["charged_empty_replies"] == 1
    assert [point["value"] for point in scored["uncharged"]["refine"]] == [0.25, 0.5, 0.5, 0.5, 0.5]
    assert len(scored["inconsistencies"]) == 2
    assert "problem 3" in scored["inconsistencies"][0]
    assert scored["unfinished"] == ["5"]
    streamed = problems[0] | {"attempts": [attempt(1, "Accepted", tokens=0)]}
    path.write_text(json.dumps({"summary": {"total_problems": 118}, "detailed_results": [streamed]}))
    [scored] = run("refinement", str(path))["refinements"]
    assert (scored["tokens"], scored["inconsistencies"]) == (None, []), "0 tokens of a reply are unknown"
    path.write_text("{}")
    with pytest.raises(CommandError, match="no list detailed_results"):
        run("refinement", str(path))


def test_restarts_of_a_result_file_are_no_further_attempts(tmp_path: Path, run: Callable[..., Any]) -> None:
    """Return two starts of two attempts each, numbered consecutively as the published program does."""

    def starts(*verdicts: str) -> list[dict[str, Any]]:
        return [
            attempt(number, verdict) | {"generation": (number + 1) // 2}
            for number, verdict in enumerate(verdicts, 1)
        ]

    wrong = "Wrong Answer"
    problems = [
        {"id": 1, "final_status": "Accepted", "attempts": starts(wrong, wrong, "Accepted")},
        {"id": 2, "final_status": "Accepted", "attempts": starts(wrong, "Accepted")},
        {"id": 3, "final_status": "Failed", "attempts": starts(*[wrong] * 4)},
        {"id": 4, "final_status": "Accepted", "attempts": starts("Accepted")},
    ]
    path = tmp_path / "eval_results_model.json"
    path.write_text(
        json.dumps({"summary": {"evaluated_problems": 4, "passed_problems": 3}, "detailed_results": problems})
    )
    [scored] = run("refinement", str(path))["refinements"]
    assert [point["value"] for point in scored["refine"]] == [0.25, 0.5], (
        "K is 2, and problem 1 fails its first start"
    )
    assert (scored["with_restarts"]["value"], scored["restarted"]) == (0.75, 2)
    assert (scored["solved"], scored["inconsistencies"]) == (3, [])
    assert scored["tokens"] == 1000


RIGHT = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", n); }'
ECHO_ONE = RIGHT.replace(", n)", ", 1)")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.django_db(transaction=True)
def test_the_programs_of_a_result_file_are_judged_here_once_and_compared(
    tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps(ROW))
    run("import_problems", "icpc-eval", str(tmp_path), "--dataset", "eval")
    sample = {"sample_tests": {"status": "Wrong Answer"}}
    attempts = [
        attempt(1, None, output="") | {"code": ""},
        attempt(2, None) | {"code": ""} | {"sample_tests": {"status": "Compilation Error"}},
        attempt(3, "Accepted") | {"code": ECHO_ONE},
        attempt(4, None) | {"code": RIGHT} | sample,
    ]
    path = tmp_path / "eval_results_model.json"
    entries = [
        {"id": 7, "final_status": "Accepted", "attempts": attempts},
        {"id": 70, "final_status": "Accepted", "attempts": [attempt(1, "Accepted") | {"code": RIGHT}]},
    ]
    path.write_text(json.dumps({"detailed_results": entries}))
    arguments = (
        "refinement",
        str(path),
        "--judge",
        "eval",
        "--jobs",
        "1",
    )  # the test database supports one writer
    begun: list[int] = []

    def fails(judgement_id: int) -> None:
        begun.append(judgement_id)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(judging, "perform", fails)
        with pytest.raises(KeyboardInterrupt):
            run(*arguments)
    [document] = run(*arguments)["refinements"]
    judged = document["judged"]
    assert (judged["attempts"], judged["agree"], judged["missing_problems"]) == (3, 1, ["70"])
    assert judged["disagreements"] == [
        {"problem": "7", "attempt": 3, "published": "AC", "ours": "WA"},
        {"problem": "7", "attempt": 4, "published": "WA", "ours": "AC"},
    ]
    assert {"published": "CE", "ours": "NO_CODE", "attempts": 1} in judged["verdicts"]
    assert [point["value"] for point in judged["published_curve"]["refine"]] == [0, 1, 1, 1]
    assert [point["value"] for point in judged["our_curve"]["refine"]] == [0, 0, 1, 1]
    monkeypatch.setattr(judging, "perform", fails)
    begun.clear()
    assert run(*arguments)["refinements"] == [document]
    call_command(*arguments)
    assert begun == [], "what was judged is not judged again"
