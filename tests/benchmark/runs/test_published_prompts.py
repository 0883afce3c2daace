"""Runs with prompts from a clone of the published repository."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.benchmark.prompts.clone import make_clone
from tests.benchmark.runs.conftest import CommandSandbox
from tests.stack import REPOSITORY


@pytest.mark.parametrize("method", ["zero-shot", "semantic+episodic+reflexion"])
def test_the_practice_student_answers_them_and_the_run_names_their_commit(
    commands: CommandSandbox, tmp_path: Path, method: str
) -> None:
    clone, folder = make_clone(tmp_path / "clone"), tmp_path / "usaco-prompts"
    commands.manage("import_prompts", "usaco", str(clone), "--output", str(folder))
    practice = REPOSITORY / "benchmark" / "practice_problems"
    commands.manage("import_problems", "icpc", str(practice), "--dataset", "practice")
    searching = [] if method == "zero-shot" else ["textbook=hintbench"]
    output, _ = commands.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", "practice:student", "--method", method,
        "--limit", "2", "--profile", "usaco-code", "--set", f"prompts={folder}", *searching,
    )  # fmt: skip
    document = json.loads(output)
    assert (document["state"], document["failed"], document["done"]) == ("finished", 0, 2)
    manifest = commands.report(document["run"])["manifest"]
    commit = subprocess.run(
        ["git", "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert (manifest["prompts"]["commit"], manifest["prompts"]["edited"]) == (commit, False)
    assert "whole/solve" in manifest["templates"]

    asked = commands.rows("select purpose, messages from benchmark_generation order by id")
    texts = [(purpose, json.loads(messages)[0]["content"]) for purpose, messages in asked]
    beginnings = {
        "draft": "Write Python.\n  * Plan, then\n\tcode.\n[BEGIN PROBLEM]\n",
        "solve": "Write Python.\n"
        if method == "zero-shot"
        else "You get both.\n\n[BEGIN SIMILAR PROBLEMS]\n\n\n First",
        "reflect": "You were solving this:\n    [BEGIN PROBLEM]\n    ",
    }
    assert all(text.startswith(beginnings[purpose]) for purpose, text in texts)
    assert {purpose for purpose, _ in texts} == ({"solve"} if method == "zero-shot" else {*beginnings})
    known = commands.rows("select code <> '' from benchmark_generation")
    assert known == [(1,)] * len(known)
    (folder / "whole" / "solve.txt").write_text("Other words: {{problem}}")
    _, errors = commands.manage("run_baseline", "--like", document["run"], status=1)
    assert "Prompt templates changed" in errors


def test_a_run_with_prompts_of_ones_own_names_no_commit(commands: CommandSandbox, tmp_path: Path) -> None:
    (tmp_path / "your_turn.txt").write_text("Go on.\n")
    arguments = (
        "--dataset",
        "orchard",
        "--model",
        "practice:student",
        "--method",
        "zero-shot",
        "--limit",
        "1",
    )
    output, _ = commands.manage("run_baseline", "--json", *arguments, "--set", f"prompts={tmp_path}")
    assert commands.report(json.loads(output)["run"])["manifest"]["prompts"] is None
