"""Retrieval end to end: the query, the texts in prompts, and the stored record."""

import json

import pytest

from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

SOLUTION = Script(pieces_of(REPLY))
SUMS = "Problem of a sum: Print the result for the numbers."
FIRST = ("--problems", "apple_sum")


def prompts(commands: CommandSandbox) -> list[str]:
    return [request.body["messages"][0]["content"] for request in commands.fake_providers.requests]


def retrieved(commands: CommandSandbox) -> dict[str, dict[str, object]]:
    [(record,)] = commands.rows("select retrieval from benchmark_generation where purpose = 'solve'")
    found: dict[str, dict[str, object]] = json.loads(record)
    return found


def test_semantic_retrieval_shows_the_article_that_fits_cut_where_that_is_asked_for(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION)
    document = commands.baseline(*FIRST, "--set", "semantic_max_chars=20", method="semantic")
    assert (document["generations"], document["solved"]) == (2, 1)
    draft, solve = prompts(commands)
    assert "TEXTBOOK" not in draft
    assert f"[BEGIN TEXTBOOK EXCERPT]\n{SUMS[:20]}\n[END TEXTBOOK EXCERPT]" in solve
    record = retrieved(commands)["semantic"]
    assert (record["textbook"], record["tokenizer"]) == ("hintbench", "usaco_split")
    [hit] = record["hits"]  # type: ignore[misc]
    assert (hit["id"], hit["characters"], hit["truncated_to"]) == ("sums", len(SUMS), 20)  # type: ignore[has-type]
    assert commands.report(document["run"])["manifest"]["textbook"]["name"] == "hintbench"


def test_both_kinds_of_texts_are_found_with_one_draft(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION)
    document = commands.baseline(*FIRST, "--set", "p=1", method="episodic+semantic")
    assert document["generations"] == 2
    _, solve = prompts(commands)
    assert solve.index("[BEGIN SIMILAR PROBLEMS]") < solve.index(f"[BEGIN TEXTBOOK EXCERPT]\n{SUMS}\n")
    assert set(retrieved(commands)) == {"query", "semantic", "episodic"}
    assert commands.rows("select method from benchmark_run") == [("semantic+episodic",)]


@pytest.mark.parametrize(("query", "found"), [("statement+code", "cherry_sum"), ("reply", "berry_product")])
def test_the_setting_selects_the_part_of_the_draft_in_the_query(
    commands: CommandSandbox, query: str, found: str
) -> None:
    """The draft's words lead to one problem, those of its program to another."""
    for external_id, words in (("berry_product", "xylophone " * 9), ("cherry_sum", "quokka " * 9)):
        commands.rows("update benchmark_problem set analysis = ? where external_id = ?", [words, external_id])
    draft = "I think of a xylophone and another xylophone .\n\n```python\nprint( quokka )\n```\n"
    commands.fake_providers.script(Script(pieces_of(draft)), SOLUTION)
    commands.baseline(*FIRST, "--set", f"query={query}", "p=1", method="episodic")
    [hit] = retrieved(commands)["episodic"]["hits"]  # type: ignore[misc]
    assert hit["id"] == found  # type: ignore[has-type]


def test_a_textbook_that_is_not_there_is_said_before_anything_is_paid(commands: CommandSandbox) -> None:
    run = ["run_baseline", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "semantic"]
    _, errors = commands.manage(*run, "--set", "textbook=cookbook", status=1)
    assert "There is no textbook 'cookbook' to search. There are: hintbench." in errors
    assert "manage.py import_corpus" in errors
    assert commands.fake_providers.requests == []


def test_a_run_does_not_go_on_with_another_textbook(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION, SOLUTION)
    document = commands.baseline(*FIRST, method="semantic")
    commands.rows("update benchmark_corpus set content_hash = 'other'")
    _, errors = commands.manage("run_baseline", "--resume", document["run"], status=1)
    assert "The textbook hintbench changed since" in errors
