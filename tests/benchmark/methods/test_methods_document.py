"""docs/methods.md agrees with the program on the methods, and names existing tests."""

import json
import re

import pytest
from django.core.management import call_command

from benchmark.methods import METHODS, PROFILES, MethodSettings, Profile, count_calls, parse_settings
from benchmark.retrieval import CONTENTS, FORMULAS, QUERY_KINDS
from tests.stack import REPOSITORY

TEXT = (REPOSITORY / "docs" / "methods.md").read_text()
TABLE = re.findall(r"^\| `([\w+-]+)` \| ([\w ]+) \| ([\d, ]+) \| (.+) \|$", TEXT, re.MULTILINE)


def test_the_table_has_the_calls_and_the_sources_of_the_program() -> None:
    assert {name for name, *_ in TABLE} >= {
        *(name for name, method in METHODS.items() if method.in_usaco_paper),
        "retry",
        "random",
        "oracle-assisted",
    }
    for name, number, _, source in TABLE:
        assert (number, source) == (count_calls(METHODS[name]), METHODS[name].source), name


def test_every_choice_of_the_axes_is_named_and_every_named_test_exists() -> None:
    for name in (*CONTENTS, *FORMULAS, *QUERY_KINDS):
        assert re.search(rf"[`=]{re.escape(name)}`", TEXT), name
    named = re.findall(r"`(tests/[\w/.]+)`", TEXT)
    assert len(named) > 8
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


def test_the_command_lists_the_profiles_with_what_they_assume(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("methods", "--json")
    profiles = {profile["name"]: profile for profile in json.loads(capsys.readouterr().out)["profiles"]}
    assert profiles.keys() == PROFILES.keys()
    assert "max_output_tokens=4096" in profiles["usaco-paper"]["settings"]
    call_command("methods")
    told = capsys.readouterr().out
    for profile in PROFILES.values():
        assert f"Profile {profile.name} (version {profile.version}): {profile.summary}" in told
        assert f"Assumed: {profile.assumed}" in told
        assert f"| `{profile.name}` | {profile.version} |" in TEXT
    assert "with '+reflexion' in the method: buffer=last" in told


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_longest_reply_that_no_paper_states_is_named_as_assumed(profile: Profile) -> None:
    longest = parse_settings(MethodSettings, [], profile.settings_for("gpt-4")).max_output_tokens
    assert longest is None or f"max_output_tokens={longest}" in profile.assumed


def test_the_command_lists_them_and_explains_one(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("methods", "semantic+reflexion", "--json")
    [method] = json.loads(capsys.readouterr().out)["methods"]
    assert (method["calls"], method["caveat"]) == ("2 to 5", "")
    call_command("methods", "oracle-assisted+retry")
    told = capsys.readouterr().out
    assert "the model was shown the official analysis" in told
    assert "Calls an attempt: 1 to 4." in told
    assert "  i=3  (whole number from 0 to 20) retries" in told
