"""The two halves of an array, computed by two threads."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event, Thread, get_ident

from tutoring.rules.halves import in_halves, middle_of


def slices_by_thread() -> dict[int, slice]:
    """Return the halves of ten rows by the thread that computed them. Raise BrokenBarrierError for one thread."""
    together = Barrier(2)
    computed: dict[int, slice] = {}

    def compute(own: slice) -> None:
        together.wait(timeout=10)
        computed[get_ident()] = own

    in_halves(compute, 3, 10)
    return computed


def test_two_threads_compute_the_halves_at_the_same_time() -> None:
    computed = slices_by_thread()
    assert computed.pop(get_ident()) == slice(0, 3)
    assert [*computed.values()] == [slice(3, 10)]


def test_a_thread_computes_both_halves_while_the_second_thread_is_occupied() -> None:
    occupied, free = Event(), Event()

    def wait(own: slice) -> None:
        if own.start:
            occupied.set()
            free.wait(timeout=10)

    other = Thread(target=in_halves, args=(wait, 1, 2))
    other.start()
    assert occupied.wait(timeout=10)
    computed: list[slice] = []
    in_halves(computed.append, 3, 10)
    free.set()
    other.join()
    assert computed == [slice(0, 3), slice(3, 10)]


def test_a_fork_has_a_second_thread_too() -> None:
    in_halves(lambda _: None, 1, 2)  # starts the thread of this process, which the fork does not have
    if not (child := os.fork()):
        threads = 0
        with suppress(BrokenBarrierError):
            threads = len(slices_by_thread())
        os._exit(threads)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_few_rows_are_not_divided() -> None:
    computed: list[slice] = []
    in_halves(computed.append, middle_of(39, 20), 39)
    assert computed == [slice(0, 39)]
    assert middle_of(40, 20) == 20
