"""Work on many items at once, in threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Iterable[T], jobs: int, on_done: Callable[[R], object]
) -> list[R]:
    """Return the result of `work` for each item, in their order; `jobs` threads work at once.

    `on_done` is called in this thread with each result as it arrives. Exceptions of `work` and `on_done` are raised
    here. After one, or an interruption, no further item starts, and the function returns when the started ones have
    ended.
    """
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                on_done(future.result())
        finally:
            for future in futures:
                future.cancel()
    return [future.result() for future in futures]
