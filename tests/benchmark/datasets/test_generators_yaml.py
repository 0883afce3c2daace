"""The parser of generators.yaml: names, numbers, commands and seeds, and a fault for each unsupported entry."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchmark.datasets.generators_yaml import Listing, ListingEntry, read_listing
from judge.packages import PackageError


def listing(folder: Path, content: Any) -> Listing:
    file = folder / "generators.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return read_listing(file)


def secret(data: Any, **settings: Any) -> dict[str, Any]:
    return {"data": {"secret": {"data": data}}, **settings}


def faults(found: Listing) -> dict[str, str]:
    return {fault.name: fault.reason for fault in found.faults}


@pytest.mark.parametrize(
    ("name", "inline", "copied", "commands", "in_data", "elsewhere"),
    [
        ("aroundthetable", 4, 0, 140, 0, 0),
        ("arrangingadapters", 10, 0, 108, 0, 0),
        ("brickwork", 37, 1, 94, 2, 0),
        ("fasterthanlight", 0, 36, 185, 3, 0),
        ("isolatedisland", 6, 11, 88, 0, 14),
    ],
)
def test_every_entry_of_real_files_is_understood(
    shared_data: Path, name: str, inline: int, copied: int, commands: int, in_data: int, elsewhere: int
) -> None:
    found = read_listing(shared_data / "generators_yaml" / f"{name}.yaml")
    assert found.faults == []
    tests = found.tests
    assert [
        sum(one.input is not None for one in tests),
        sum(bool(one.copy) for one in tests),
        sum(bool(one.command) for one in tests),
        sum(one.input is None and not one.copy and not one.command for one in tests),
        found.elsewhere,
    ] == [inline, copied, commands, in_data, elsewhere]
    assert len({one.name for one in tests}) == len(tests)


def test_names_numbers_counts_and_salts_follow_the_format(tmp_path: Path) -> None:
    content = {
        "solution": "/submissions/accepted/a.cpp",
        "random_salt": "s",
        "data": {
            "secret": {
                "solution": None,
                "data": [
                    {"": "tree 1 {name}"},
                    {"few": {"generate": "tree {seed} {count}", "count": 2}},
                    {"group": {"random_salt": "t", "data": [{"b": {"in": "1\n2", "ans": "3"}}]}},
                    {"deep": {"data": {"z": "copy/z.in", "a": {"copy": "copy/a", "solution": "/x/b.py"}}}},
                    {"range": {"in": "0", "count": "-1..=1"}},
                    {"list": {"in": "0", "count": [7, 100]}},
                    {"hand": None},
                ],
            },
        },
    }
    found = listing(tmp_path, content)
    assert found.faults == []
    key = {one.name: one for one in found.tests}
    assert list(key) == [
        "secret/01", "secret/02-few-1", "secret/03-few-2", "secret/1-group/04-b", "secret/2-deep/z",
        "secret/2-deep/a", "secret/05-range--1", "secret/06-range-00", "secret/07-range-01", "secret/08-list-7",
        "secret/09-list-100", "secret/10-hand",
    ]  # fmt: skip
    assert key["secret/01"] == ListingEntry("secret/01", "secret/", command="tree 1 01", salt="s")
    assert (key["secret/03-few-2"].command, key["secret/03-few-2"].salt) == ("tree {seed} 2", "s:1")
    assert (key["secret/1-group/04-b"].input, key["secret/1-group/04-b"].answer) == ("1\n2\n", "3\n")
    assert key["secret/2-deep/z"].copy == "copy/z"
    assert [key[f"secret/2-deep/{name}"].solution for name in "za"] == ["", "/x/b.py"]


def test_an_unnumbered_folder_keeps_the_order_of_the_file_and_numbers_inside_by_name(tmp_path: Path) -> None:
    found = listing(
        tmp_path, secret({"b": {"data": [{"x": "g 1"}]}, "a": {"data": [{"y": "g 2"}]}, "c": "g 3"})
    )
    assert [one.name for one in found.tests] == ["secret/b/2-x", "secret/a/1-y", "secret/c"]


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        ({"a": {"generate": "g", "colour": 1}}, "secret/a", "its key colour is not known"),
        ({"a": 5}, "secret/a", "must be a command or a mapping, not 5"),
        ({"a": {"in": 5}}, "secret/a", "its in must be a text in quotes, not 5"),
        ({"a": {"generate": "g {count}"}}, "secret/a", "contains {count}, but the entry has no count"),
        ({"a": "g {seed} {seed:1}"}, "secret/a", "contains {seed} more than once"),
        ({"a": {"in": "1", "count": 101}}, "secret/a", "its count must be 1 to 100"),
        ({"a": {"in": "1", "count": "3..=1"}}, "secret/a", "its count must be"),
        ({"a": {"in": "1", "count": [2, 2]}}, "secret/a", "its count must be"),
        ({"a": {"in": "1", "count": True}}, "secret/a", "its count must be"),
        ({"a": {"desc": "Ten"}}, "secret/a", "its input is missing"),
        ({"a": {"copy": "/etc/passwd"}}, "secret/a", "must be relative to generators/"),
        ({"a": {"in": "1", "args": "-x"}}, "secret/a", "its args are not supported"),
        ({"a": ""}, "secret/a", "its command is empty"),
        ({"": "g"}, "secret/", "a test outside a list needs a name"),
        ([{"a": "g", "b": "g"}], "secret[1]", "an item of a list must contain one test, not a, b"),
        (["g"], "secret[1]", "an item of a list must contain one test, not 'g'"),
        ({"g": {"data": 7}}, "secret/g", "its data must be a mapping or a list, not 7"),
        ({"g": {"include": ["z"]}}, "secret/g", "includes 'z', which names no earlier test"),
        ({"g": {"colour": 1}}, "secret/g/colour", "this key is not known"),
        (
            {"g": {"testdata.yaml": {"output_validator_flags": "x"}}},
            "secret/g",
            "its testdata.yaml gives output_validator_flags",
        ),
    ],
)
def test_unsupported_entries_become_faults_with_their_path(
    tmp_path: Path, data: Any, name: str, reason: str
) -> None:
    found = listing(tmp_path, secret(data))
    assert reason in faults(found)[name]
    assert found.tests == []


def test_keys_of_the_root_and_repeated_keys_are_listed_too(tmp_path: Path) -> None:
    found = listing(
        tmp_path,
        "mystery: 1\nversion: 2025-09\ngitignore_generated: true\ngenerators: {a: a.py, b: [b.py]}\n"
        "data:\n  sample:\n  elsewhere: {data: {a: g}}\n  secret:\n    data:\n      a: g 1\n      a: g 2\n",
    )
    assert faults(found) == {
        "mystery": "this key is not known",
        "generators/a": "must be a list of files, not 'a.py'",
        "elsewhere": "data/ has no folder of that name whose tests could be judged",
        "a (line 11)": "this key occurs twice in one mapping; only the last one is used",
    }
    assert found.aliases == {"b": ("b.py",)}
    assert [one.command for one in found.tests] == ["g 2"]


@pytest.mark.slow
def test_a_file_that_unfolds_without_end_or_lists_too_much_is_refused(tmp_path: Path) -> None:
    nested: dict[str, Any] = {"in": "1"}
    for _ in range(25):
        nested = {"data": {"a": nested}}
    many = [{"a": {"in": "1", "count": 100}}] * 101
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise("abcdefg")
    )
    for content, message in (
        (secret({"a": nested}), "nested too deeply"),
        (secret(many), "more than 10000 tests"),
        (bomb, "expands to more than"),
        (secret([{"a": {"in": "x" * 100_000, "count": 100}}] * 7), "are larger than"),
    ):
        with pytest.raises(PackageError, match=message):
            listing(tmp_path, content)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 120) | st.text(max_size=8) | st.just("g {seed} {count}"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["data", "in", "ans", "copy", "generate", "count", "include", "a", "b", "", "solution", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(_VALUES)
def test_any_value_gives_tests_or_faults_and_never_another_error(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    found = listing(tmp_path_factory.getbasetemp(), {"data": {"secret": {"data": {"first": value}}}})
    if value in (None, "") or not isinstance(value, dict | list):
        assert len(found.tests) + len(found.faults) == 1
    assert all(one.name.startswith("secret/") for one in found.tests)
