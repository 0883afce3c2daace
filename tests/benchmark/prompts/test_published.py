"""Prompts from a clone of the published repository: byte for byte, by commit, without executing its code."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from benchmark.methods import METHODS, SettingsError, parse_settings
from benchmark.prompts import (
    PreviousAttempt,
    PromptContext,
    PromptFormat,
    SampleResult,
    SampleRun,
    VisibleProblem,
    revision_prompt,
    solve_prompt,
)
from benchmark.prompts.published import FILE, UnexpectedShapeError, read_prompts, source_of
from benchmark.retrieval import Document
from judge import Verdict
from tests.benchmark.prompts.clone import PROMPTS, make_clone

TASK = VisibleProblem("1", "Count the {{cows}}.", time_limit=2, memory_limit=2**28)
SIMILAR = (Document("2", "Two", "Text two."), Document("3", "Three", "Text three."))
WRONG = PreviousAttempt(1, "My reply.", SampleRun(Verdict.WA, (SampleResult(Verdict.WA, "1", "2", "3", ""),)))


def imported(clone: Path, output: Path) -> dict[str, Any]:
    printed = StringIO()
    call_command("import_prompts", "usaco", str(clone), "--output", str(output), "--json", stdout=printed)
    document: dict[str, Any] = json.loads(printed.getvalue())
    return document


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def form(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> PromptFormat:
    folder = tmp_path_factory.mktemp("prompts") / "usaco"
    imported(clone, folder)
    chosen = [f"prompts={folder}", "state_limits=false"]
    return parse_settings(METHODS["semantic+episodic+reflexion"].settings, chosen).form


EPISODIC = (
    "[BEGIN SIMILAR PROBLEMS]\n\n\n First problem and solution \n\nText two."
    "\n\n Second problem and solution \n\nText three.\n[END SIMILAR PROBLEMS]\n"
)
SEMANTIC = "[BEGIN TEXTBOOK EXCERPT]\nA chapter.\n[END TEXTBOOK EXCERPT]\n"
NOW = "\n\nNow:\n[BEGIN PROBLEM]\nCount the {{cows}}.\n[END PROBLEM]"


@pytest.mark.parametrize(
    ("material", "expected"),
    [
        (
            PromptContext(),
            "Write Python.\n  * Plan, then\n\tcode.\n[BEGIN PROBLEM]\nCount the {{cows}}.\n[END PROBLEM]\n",
        ),
        (
            PromptContext(SIMILAR),
            f"You get solved problems.\n\n{EPISODIC}{NOW}",
        ),
        (
            PromptContext(excerpt="A chapter."),
            f"You get a chapter.\n\n{SEMANTIC}{NOW}",
        ),
        (
            PromptContext(SIMILAR, "A chapter."),
            f"You get both.\n\n{EPISODIC}\n\n{SEMANTIC}{NOW}",
        ),
    ],
)
def test_a_question_is_the_text_of_the_function_byte_for_byte(
    form: PromptFormat, material: PromptContext, expected: str
) -> None:
    [message] = solve_prompt(TASK, form, material).messages
    assert message.content == expected


@pytest.mark.parametrize(
    ("material", "between"),
    [(PromptContext(), ""), (PromptContext(SIMILAR), f"You were given these:\n{EPISODIC}")],
)
def test_a_reflection_keeps_the_indentation_of_the_function(
    form: PromptFormat, material: PromptContext, between: str
) -> None:
    [message] = revision_prompt(TASK, form, material, [WRONG], "samples").messages
    told = "Attempt 1:\n\nMy reply.\n\nResult of attempt 1:\n\nSample 1: wrong answer.\nInput:\n1\n"
    told += "Output of your program:\n2\nExpected output:\n3"
    assert message.content == (
        "You were solving this:\n    [BEGIN PROBLEM]\n    Count the {{cows}}.\n    [END PROBLEM]\n"
        f"    {between}\n    All attempts:\n    {told}\n    Mend it.\n    "
    )


def test_a_prompt_that_the_functions_do_not_have_is_composed_as_usual(form: PromptFormat) -> None:
    [message] = solve_prompt(TASK, form, PromptContext(analysis="Words.")).messages
    assert "[BEGIN ANALYSIS]" in message.content
    [message] = revision_prompt(TASK, form, PromptContext(), [WRONG], "none").messages
    assert "Nothing is said about how they did" in message.content


def test_the_commit_is_known_and_nothing_of_the_clone_is_run(clone: Path, tmp_path: Path) -> None:
    (clone / FILE).write_text("changed after the commit")
    document = imported(clone, tmp_path / "out")
    commit = subprocess.run(
        ["git", "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert document["commit"] == commit
    assert set(document["templates"]) >= {"whole/solve", "whole/reflexion_retrieval"}
    assert source_of(str(tmp_path / "out")) == {
        "source": "usaco",
        "commit": commit,
        "file": FILE,
        "edited": False,
    }
    (tmp_path / "out" / "whole" / "solve.txt").write_text("{{problem}}")
    assert (source_of(str(tmp_path / "out")) or {})["edited"]
    assert not list(clone.rglob("executed"))
    with pytest.raises(CommandError, match=r"already exists"):
        imported(clone, tmp_path / "out")


def test_a_spoiled_record_is_named(clone: Path, tmp_path: Path) -> None:
    imported(clone, tmp_path / "out")
    (tmp_path / "out" / "source.json").write_text("{")
    with pytest.raises(SettingsError, match=r"source.json cannot be read"):
        parse_settings(METHODS["zero-shot"].settings, [f"prompts={tmp_path / 'out'}"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def solve_prompt_fn", "def other", "there is no solve_prompt_fn"),
        (
            "query['reflection_buffer']",
            "query['problem_description']",
            "looked for query['reflection_buffer']",
        ),
        ("query['retrieval_text']", "query['other_text']", "and found: query['other_text']"),
        ("RetrievalType.SEMANTIC", "RetrievalType.BOOKS", "(USACOBench/prompts.py, line"),
        ("{query['problem_description']}", "{query['problem_description']!r}", "looked for literals"),
        (
            "    return f",
            "    for query in []: pass\n    return f",
            "looked for assignments, ifs and a return",
        ),
        ("Write Python.", "Write {{{{problem}}}}.", "without double braces"),
        ("Write Python.", "Write\\rPython.", "characters that a template cannot hold"),
        ("class RetrievalType", "class (", "is not valid Python"),
    ],
)
def test_a_clone_of_another_shape_is_refused_with_what_was_looked_for(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in PROMPTS
    clone = make_clone(tmp_path / "clone", PROMPTS.replace(old, new))
    with pytest.raises(CommandError) as raised:
        imported(clone, tmp_path / "out")
    assert said in str(raised.value)
    assert str(clone) in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["clone"]


def test_a_folder_without_the_file_or_without_a_commit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nowhere is not a folder; looked for a git clone"):
        imported(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "plain").mkdir()
    with pytest.raises(CommandError, match=r"looked for a git clone with a commit in .*plain"):
        imported(tmp_path / "plain", tmp_path / "out")
    clone = make_clone(tmp_path / "clone", file="prompts.py")
    with pytest.raises(CommandError, match=r"looked for USACOBench/prompts.py in commit"):
        imported(clone, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@given(st.text())
def test_any_file_is_read_or_refused(source: str) -> None:
    with pytest.raises(UnexpectedShapeError):
        read_prompts(source)
