"""Sources of rows: JSON lines (optionally gzipped), a JSON list, or Parquet; a file or a folder of files.

Rows are read one at a time, because one row may contain tens of megabytes of tests.
"""

import json
import zlib
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings

from benchmark.datasets.archives import open_gzip
from benchmark.datasets.json_stream import read_list
from benchmark.datasets.records import SourceError

_SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".parquet")

Row = dict[str, Any]


def read_rows(path: Path) -> tuple[int, Iterator[Row]]:
    """Return the number of rows and an iterator of the rows. Both may raise SourceError."""
    files = _files(path)
    return sum(map(_count, files)), (row for file in files for row in _rows(file))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SourceError(f"{path} does not exist")
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(_SUFFIXES))
    if not files:
        raise SourceError(f"{path} contains no file of rows ({', '.join(_SUFFIXES)})")
    return files


def _count(file: Path) -> int:
    if file.suffix == ".parquet":
        return int(_parquet(file).metadata.num_rows)
    if file.suffix == ".json":
        return sum(1 for _ in _list(file))
    return sum(1 for _ in _lines(file))


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix == ".parquet":
        for batch in _parquet(file).iter_batches(batch_size=1):
            yield from batch.to_pylist()
    elif file.suffix == ".json":
        yield from _list(file)
    else:
        for number, line in enumerate(_lines(file), 1):
            yield _object(file, number, line)


def _lines(file: Path) -> Iterator[str]:
    longest = settings.IMPORT_MAXIMUM_ROW
    try:
        with _text(file) as lines:
            for line in iter(partial(lines.readline, longest + 1), ""):
                if len(line) > longest:
                    raise SourceError(
                        f"{file} has a row longer than {longest // 2**20} MiB. IMPORT_ROW_MB raises this bound."
                    )
                if line.strip():
                    yield line
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SourceError(
            f"{file} cannot be read ({error}). It may be incomplete: fetch it again."
        ) from error


def _text(file: Path) -> TextIO:
    return open_gzip(file) if file.suffix == ".gz" else file.open(encoding="utf-8")


def _object(file: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file}, row {number} is not valid JSON ({error})") from error
    if not isinstance(row, dict):
        raise SourceError(f"{file}, row {number} is a {type(row).__name__}, not an object")
    return row


def _list(file: Path) -> Iterator[Row]:
    for row in read_list(file):
        if not isinstance(row, dict):
            raise SourceError(
                f"{file} must contain a list of objects, and one entry is a {type(row).__name__}"
            )
        yield row


def _parquet(file: Path) -> Any:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise SourceError(
            f"{file} is a Parquet file. Reading it needs the package pyarrow: .venv/bin/pip install pyarrow"
        ) from None
    try:
        return parquet.ParquetFile(file)
    except (OSError, ValueError) as error:  # pyarrow raises subclasses of these for a damaged file
        raise SourceError(
            f"{file} is not a readable Parquet file ({error}). It may be a Git LFS pointer: fetch it again."
        ) from error
