"""Bounds of imports: compressed bombs and overlong lines are refused."""

import gzip
import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from pytest_django import Settings

from benchmark.datasets import archives
from benchmark.datasets.records import SourceError
from benchmark.datasets.rows import read_rows

ROWS = 1_000


def test_rows_of_a_gzip_file_are_read_one_at_a_time(tmp_path: Path):
    path = tmp_path / "lines.jsonl.gz"
    line = json.dumps({"description": "x" * 10_000})
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(f"{line}\n" for _ in range(ROWS))
    tracemalloc.start()
    count, rows = read_rows(path)
    assert count == sum(1 for _ in rows) == ROWS
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


def test_a_gzip_bomb_is_refused_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAXIMUM_UNPACKED", 2**20)
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb") as file:
        file.write(b'{"a": "' + b"0" * 20 * 2**20)
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"would unpack to more than 1 MiB .* raise IMPORT_UNPACKED_MB"):
        read_rows(bomb)
    assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    tracemalloc.stop()


def test_a_gzip_file_may_unpack_to_a_multiple_of_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "_ANY_RATIO", 0)
    monkeypatch.setattr(archives, "MAXIMUM_RATIO", 20)
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb") as file:
        file.write(b" " * 2**20)
    with pytest.raises(SourceError, match="20 times its size"):
        read_rows(bomb)


def test_a_damaged_gzip_file_is_refused(tmp_path: Path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-20])
    with pytest.raises(SourceError, match="cannot be read"):
        read_rows(path)


def damaged_zip(compression: int) -> bytes:
    """Return an archive whose member has a wrong byte at the beginning of its data."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        archive.writestr("a.in", "1 2\n" * 1000)
    content = bytearray(packed.getvalue())
    content[50] ^= 0xFF
    return bytes(content)


def badly_named_zip() -> bytes:
    """Return an archive that says that a name is UTF-8, which it is not."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("\xe9.in", "")
    return packed.getvalue().replace("\xe9".encode(), b"\xff\xff")


@pytest.mark.parametrize(
    "content",
    [
        *map(damaged_zip, (zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED)),
        badly_named_zip(),
    ],
    ids=["LZMA", "deflate", "name"],
)
def test_a_damaged_zip_is_refused(tmp_path: Path, content: bytes):
    archive = tmp_path / "package.zip"
    archive.write_bytes(content)
    with pytest.raises(SourceError, match="may be damaged: fetch it again"):
        archives.unpack(archive, tmp_path / "unpacked")


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_line_longer_than_the_bound_is_refused(tmp_path: Path, settings: Settings, name: str):
    settings.IMPORT_MAXIMUM_ROW = 2**20
    path = tmp_path / name
    content = b'{"a": "' + b"0" * 2**20 + b'"}'
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(SourceError, match=r"longer than 1 MiB\. IMPORT_ROW_MB raises this bound"):
        read_rows(path)
