"""docs/methods.md says of the methods what the program says, and names tests that exist."""

import json
import re

import pytest
from django.core.management import call_command

from benchmark.methods import METHODS
from benchmark.methods.calls import calls
from benchmark.retrieval import CONTENTS, FORMULAS, QUERY_KINDS
from tests.stack import REPOSITORY

TEXT = (REPOSITORY / "docs" / "methods.md").read_text()
TABLE = re.findall(r"^\| `([\w+-]+)` \| ([\w ]+) \| ([\d, ]+) \| (.+) \|$", TEXT, re.MULTILINE)


def test_the_table_has_the_calls_and_the_sources_of_the_program() -> None:
    assert {name for name, *_ in TABLE} >= {*list(METHODS)[:8], "retry", "random", "oracle-assisted"}
    for name, number, _, source in TABLE:
        assert (number, source) == (calls(METHODS[name]), METHODS[name].source), name


def test_every_choice_of_the_axes_is_named_and_every_named_test_exists() -> None:
    for name in (*CONTENTS, *FORMULAS, *QUERY_KINDS):
        assert re.search(rf"[`=]{re.escape(name)}`", TEXT), name
    named = re.findall(r"`(tests/[\w/.]+)`", TEXT)
    assert len(named) > 8
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


def test_the_command_lists_them_and_explains_one(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("methods", "semantic+reflexion", "--json")
    [method] = json.loads(capsys.readouterr().out)["methods"]
    assert (method["calls"], method["caveat"]) == ("2 to 5", "")
    call_command("methods", "oracle-assisted+retry")
    told = capsys.readouterr().out
    assert "the model was shown the official analysis" in told
    assert "Calls an attempt: 1 to 4." in told
    assert "  i=3  (whole number from 0 to 20) retries" in told
