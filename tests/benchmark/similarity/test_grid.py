"""manage.py mcq_grid: every representation with every scorer, run once, with limits, and with missing cells."""

import json
from typing import Any

from tests.benchmark.runs.conftest import CommandSandbox

ASKED = ("--questions", "alike", "--limit", "3")
MODEL = ("--model", "openai:echo", "--scorer", "bm25", "tfidf")


def grid(
    commands: CommandSandbox, *arguments: str, status: int = 0
) -> dict[tuple[str, str, str], dict[str, Any]]:
    output, _ = commands.manage("mcq_grid", "--json", *ASKED, *arguments, status=status)
    return {
        (one["table"], one["representation"], one["scorer"] or ""): one for one in json.loads(output)["cells"]
    }


def test_the_whole_grid_is_run_once(commands: CommandSandbox) -> None:
    output, _ = commands.manage("mcq_grid", "--json", *ASKED, *MODEL, "--dry-run", "--price", "1", "2")
    told = json.loads(output)
    assert commands.fake_providers.requests == []
    assert len(told["cells"]) == 2 * 2 + 5 + 2 * 3
    cells = grid(commands, *MODEL)
    asked = len(commands.fake_providers.requests)
    assert told["estimates"]["low"]["generations"] == asked, (
        "representations are written once for choosing and ranking"
    )
    assert told["estimates"]["low"]["cost_usd"] > 0
    assert {one["state"] for one in cells.values()} == {"finished"}
    assert {one["needs"] for one in cells.values()} == {None}
    assert set(cells) == {
        *(("T17", kind, scorer) for kind in ("statement", "solution") for scorer in ("bm25", "tfidf")),
        *(("T18", kind, "") for kind in ("statement", "summary", "asm_nl", "asm_pl", "solution")),
        *(("T19", kind, scorer) for kind in ("summary", "asm_nl", "asm_pl") for scorer in ("bm25", "tfidf")),
    }
    assert cells["T17", "solution", "bm25"]["accuracy"] > cells["T17", "statement", "bm25"]["accuracy"]
    assert cells["T18", "asm_nl", ""]["mrr"] is None
    assert grid(commands, *MODEL) == cells
    assert len(commands.fake_providers.requests) == asked
    text, _ = commands.manage("mcq_grid", *ASKED, *MODEL, "--report")
    assert "T19: accuracy" in text
    assert "openai:echo tfidf" in text
    assert "Missing" not in text


def test_missing_cells_say_what_they_need_and_bounds_hold_for_the_grid(commands: CommandSandbox) -> None:
    text, _ = commands.manage("mcq_grid", *ASKED)
    assert (
        "Missing: T17 encoder:facebook/bart-base solution: encoder:facebook/bart-base needs the package"
        in text
    )
    assert "Missing: T18 statement: it needs a model: name one or more with --model" in text
    assert "Missing: T19 bm25 asm_nl" in text
    assert commands.fake_providers.requests == []
    cells = grid(commands, *MODEL, "--report")
    assert cells["T17", "statement", "bm25"]["state"] == "finished"
    assert cells["T18", "statement", ""]["needs"] == "it has not been run"

    _, errors = commands.manage(
        "mcq_grid", *ASKED, *MODEL, "--max-calls", "5", "--concurrency", "1", status=1
    )
    assert "calls is used up" in errors
    assert "Repeat the command to continue" in errors
    assert len(commands.fake_providers.requests) == 5
    partly = grid(commands, *MODEL, "--report")
    assert partly["T18", "statement", ""]["state"] == "finished"
    assert partly["T18", "summary", ""]["state"] == "stopped"
    done = grid(commands, *MODEL, "--max-calls", "500")
    assert {one["state"] for one in done.values()} == {"finished"}

    _, errors = commands.manage("mcq_grid", *ASKED, "--scorer", "bm52", status=1)
    assert "there is no scorer 'bm52'" in errors
