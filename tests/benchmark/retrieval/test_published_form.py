"""Documents of the published USACO collection: its English explanation and Python program, not the whole analysis."""

import asyncio
import hashlib
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from benchmark.methods import METHODS, parse_settings
from benchmark.models import Dataset, Problem
from benchmark.prompts import VisibleProblem
from benchmark.retrieval import Document, ProblemText, SearchCorpus, problem_corpus
from benchmark.retrieval.contents import DocumentForm
from tests.benchmark.methods.scripted import ScriptedChain

pytestmark = pytest.mark.django_db

ENGLISH = "Add the pasture numbers.\n"
PYTHON = "print(sum(map(int, input().split())))\n"
WHOLE = f"Official words.\n\n#include <cstdio>\nint main() {{}}\n\n{PYTHON}"


def entry(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "name": f"Sum {number}",
        "problem_level": "bronze",
        "description": f"Add number {number}.\n\nSAMPLE INPUT:\n1 2\nSAMPLE OUTPUT:\n3\n",
        "solution": WHOLE,
        "runtime_limit": 2,
        "memory_limit": 256,
    } | changes


SPLIT = {"solution_english": ENGLISH, "solution_python3": PYTHON}


def imported(folder: Path, *entries: dict[str, Any]) -> dict[str, Any]:
    path = folder / "usaco_dict.json"
    path.write_text(json.dumps({f"{n}_bronze_sum": one for n, one in enumerate(entries)}))
    output = StringIO()
    call_command("import_problems", "usaco", str(path), "--dataset", "usaco", "--json", stdout=output)
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


def retrieved(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    call_command("retrieve", "--dataset", "usaco", "--all", "--json", *arguments)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def corpus() -> SearchCorpus:
    return problem_corpus(Dataset.objects.get(name="usaco"), "cpp")


def test_index_and_prompt_hold_the_published_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, entry(0, **SPLIT), entry(1, **SPLIT))
    documents = corpus()
    statement = Problem.objects.get(external_id="0_bronze_sum").statement
    text = f"{statement}\nSolution: \n{ENGLISH}\nSolution Code: \n{PYTHON}"
    assert documents.documents[0].text == text

    chain = ScriptedChain([True], problems=documents)
    settings = parse_settings(METHODS["episodic"].settings, ["p=1", "query=statement"])
    asyncio.run(METHODS["episodic"].solve(chain, settings))
    [(_, prompt, record)] = chain.asked
    shown = next(one for one in documents.documents if one.id == (record or {})["episodic"]["hits"][0]["id"])
    assert shown.text in prompt
    assert "Official words" not in prompt
    assert (record or {})["episodic"]["corpus_form"] == "published"
    assert retrieved(capsys)["corpus_form"] == "published"


@pytest.mark.parametrize(
    ("second", "form"),
    [(SPLIT, "published"), ({"solution_english": ENGLISH}, "mixed"), ({"solution_python3": PYTHON}, "mixed")],
)
def test_both_keys_make_the_published_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: dict[str, str], form: str
) -> None:
    imported(tmp_path, entry(0, **SPLIT), entry(1, **second))
    found = retrieved(capsys)
    assert found["corpus_form"] == form
    assert found["corpus_hash"] == corpus().content_hash
    assert [problem["problem"] for problem in found["results"]] == ["0_bronze_sum", "1_bronze_sum"]


def test_problems_without_the_keys_keep_their_text_and_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, entry(0))
    statement = Problem.objects.get().statement
    text = f"{statement}\nSolution: \n{WHOLE}"
    digest = hashlib.sha256()
    for part in ("0_bronze_sum", text):
        digest.update(len(part).to_bytes(8, "big") + part.encode())
    assert corpus().documents[0].text == text
    assert corpus().form == "analysis"
    assert corpus().content_hash == digest.hexdigest()


def test_the_form_is_part_of_the_hash() -> None:
    hashes = set()
    forms: tuple[DocumentForm, ...] = ("analysis", "published")
    for form in forms:
        text = ProblemText("Statement.", "Words.", "print(1)", form)
        hashes.add(SearchCorpus((Document("1", "One", text.holding("all"), text),)).content_hash)
    assert len(hashes) == 2
    assert ProblemText("S", "So print(1)", "print(1)").holding("all") == "S\nSolution: \nSo print(1)"
    assert ProblemText("S", "So print(1)", "print(1)", "published").holding("all") == (
        "S\nSolution: \nSo print(1)\nSolution Code: \nprint(1)"
    )


def test_a_second_import_brings_in_the_keys_of_a_problem_stored_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, entry(0), entry(1))
    before = dict(Problem.objects.values_list("external_id", "pk"))
    assert retrieved(capsys)["corpus_form"] == "analysis"
    assert imported(tmp_path, entry(0, **SPLIT), entry(1, **SPLIT))["updated"] == 2
    assert dict(Problem.objects.values_list("external_id", "pk")) == before
    assert retrieved(capsys)["corpus_form"] == "published"
    assert imported(tmp_path, entry(0, **SPLIT), entry(1, **SPLIT))["unchanged"] == 2


def test_the_control_with_the_analysis_shows_the_published_explanation(tmp_path: Path) -> None:
    imported(tmp_path, entry(0, **SPLIT), entry(1, **SPLIT))
    task = VisibleProblem("0_bronze_sum", "Add.", time_limit=2, memory_limit=2**28)
    chain = ScriptedChain([True], task, corpus())
    method = METHODS["oracle-assisted"]
    asyncio.run(method.solve(chain, method.settings()))
    assert f"[BEGIN ANALYSIS]\n{ENGLISH.strip()}\n[END ANALYSIS]" in chain.asked[0][1]
