"""Computation of the two halves of an array by two threads at the same time.

NumPy releases the interpreter lock in large operations. BLAS itself uses one thread (`OPENBLAS_NUM_THREADS`), because
its threads would multiply with the number of drafts that are checked at once. Here, one further thread serves all
drafts of a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def _second_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "second-half")


os.register_at_fork(after_in_child=_second_thread.cache_clear)  # a fork copies no threads


def in_halves(compute: Callable[[slice], None], middle: int, count: int) -> None:
    """Call `compute` with the slices before and after `middle` of `count` rows at the same time.

    Call it once with all rows if one of the slices is empty. If the second thread is occupied by other work, this
    thread computes both halves.
    """
    if not 0 < middle < count:
        compute(slice(0, count))
        return
    rest = slice(middle, count)
    second = _second_thread().submit(compute, rest)
    compute(slice(0, middle))
    if second.cancel():
        compute(rest)
    else:
        second.result()


def middle_of(count: int, least: int) -> int:
    """Return the middle of `count` rows, or 0 if a half would have fewer than `least` rows."""
    return count // 2 if count >= 2 * least else 0
