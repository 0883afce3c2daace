"""JSON as a stream: the same values and the same errors as `json.loads`, in bounded memory."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from benchmark.datasets import json_stream
from benchmark.datasets.json_stream import read_entries, read_list, read_object
from benchmark.datasets.records import SourceError
from benchmarks.imports import measure
from tests.cached_fixtures import add_database

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", 3)


def read(path: Path) -> Any:
    """Return the whole value as `json.loads` would."""
    entries = list(read_entries(path, "list", "object"))
    is_list = isinstance(json.loads(path.read_bytes()), list)
    return [value for _, value in entries] if is_list else dict(entries)


@pytest.mark.slow
@given(
    value=st.lists(VALUES) | st.dictionaries(st.text(), VALUES),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_values_are_those_of_json(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: int | None, ascii_only: bool, chunk: int
):
    path = tmp_path_factory.getbasetemp() / "stream.json"
    path.write_bytes(
        json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK", chunk)
        assert read(path) == json.loads(path.read_bytes())


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"{}", b" [ ] \n", b"[1234567890123456789012345678901234567890, 1e5, -0, 12.5]",
        b'["\\ud83d\\ude00 \\ud800 \\\\ \\" /", "\xc3\xbc"]', b'\xef\xbb\xbf["a"]', '["ü"]'.encode("utf-16"),
        b'{"a": {"b": [1, 2]}, "a": 3}', b"[true,false,null,NaN,Infinity,-Infinity]",
    ],
)  # fmt: skip
def test_unusual_values_are_those_of_json(tmp_path: Path, content: bytes):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    assert str(read(path)) == str(json.loads(content))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "content",
    [
        "", "[", "[1", "[1,", "[1,]", "[1 2]", '["a', '["a\\u00"]', '["\\x"]', "[tru]", "[1]]", "[1] x", "{", '{"a"',
        '{"a":', '{"a": 1', '{"a": 1,}', "{1: 2}", '{"a" 1}', '[\n  {"a": 1},\n  {"b": 2,\n  nonsense}\n]',
        '{"a": [1, 2],\n "b": [1, }', "[" * 100_000, '{"a": "\n"}', "nonsense",
    ],
)  # fmt: skip
def test_damage_is_reported_with_the_position_of_json(tmp_path: Path, content: str):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises((ValueError, RecursionError)) as usual:
        json.loads(content)
    with pytest.raises(
        SourceError, match=r"is not valid JSON .* It may be incomplete: fetch it again"
    ) as caught:
        read(path)
    if isinstance(usual.value, json.JSONDecodeError):
        line = re.search(r"line (\d+) column (\d+) \(char (\d+)\)", str(caught.value))
        assert line is not None
        assert int(line[1]) == usual.value.lineno
        assert abs(int(line[3]) - usual.value.pos) <= 1, "json names the comma or the place after it"


def test_bytes_that_are_no_text_are_reported(tmp_path: Path):
    path = tmp_path / "file.json"
    path.write_bytes(b'["\xff\xff"]')
    with pytest.raises(SourceError, match="is not valid JSON"):
        read(path)


def test_another_value_is_refused(tmp_path: Path):
    path = tmp_path / "file.json"
    path.write_text('{"a": 1}')
    with pytest.raises(SourceError, match="must contain a JSON list, not a value of type object"):
        list(read_list(path))
    path.write_text('"text"')
    with pytest.raises(SourceError, match="must contain a JSON object, not a value of type str"):
        list(read_object(path))


def test_memory_holds_one_entry_and_an_early_error_ends_the_reading(tmp_path: Path):
    path, damaged = tmp_path / "file.json", tmp_path / "damaged.json"
    entry = json.dumps({"text": "x" * 10_000})
    path.write_text("[" + f"{entry},\n" * 1_000 + entry + "]")
    damaged.write_text(f"[oops, {entry}" + f", {entry}" * 1_000 + "]")
    tracemalloc.start()
    assert sum(1 for _ in read_list(path)) == 1_001
    with pytest.raises(SourceError, match=r"Expecting value: line 1 column 2 \(char 1\)"):
        list(read_list(damaged))
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()


def test_an_entry_longer_than_the_bound_is_refused(tmp_path: Path, settings: Settings):
    settings.IMPORT_MAXIMUM_ROW = 2**20
    path = tmp_path / "file.json"
    path.write_text('["' + "x" * 3 * 2**20 + '"]')
    with pytest.raises(SourceError, match=r"an entry longer than 1 MiB\. IMPORT_ROW_MB raises this bound"):
        list(read_list(path))


@pytest.mark.slow
def test_the_memory_of_an_import_does_not_depend_on_the_size_of_its_file(tmp_path: Path):
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
        add_database(tmp_path / name)
    small, large = measure(tmp_path / "small", 1), measure(tmp_path / "large", 30)
    assert large.peak < small.peak + 15e6
    assert large.peak < 200e6
