"""Work on many things at once, in threads that end with it."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Iterable[T], jobs: int, on_done: Callable[[R], object]
) -> list[R]:
    """The result for each item, in their order, with `jobs` at work at once.

    `on_done` is called in this thread with each result as it comes. What `work` or `on_done` raises is raised here;
    after that, or an interruption, nothing new is begun, and what is under way is waited for.
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
