"""Progress bars of the commands."""

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def write_line(line: str) -> None:
    """Write a line on standard error, above the bar."""
    tqdm.write(line, file=sys.stderr)


def progress_bar(items: "Iterable[Any] | None" = None, **options: Any) -> "tqdm[Any]":
    """Return a tqdm bar. Where standard error is not a terminal, it is drawn every ten seconds at most."""
    return tqdm(items, mininterval=0.1 if sys.stderr.isatty() else 10, **options)
