"""Ctrl-C and SIGTERM in commands that call a model."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from benchmark.management.progress import write_line
from benchmark.model_calls import Stop

T = TypeVar("T")

WAITING_FOR_CALLS = "Waiting for the calls in flight, which are paid for. Once more drops them."


def run_interruptibly(
    work: Coroutine[Any, Any, T], stop: Stop, *, final: bool = True, message: str = WAITING_FOR_CALLS
) -> T | None:
    """Return the result of the work, or None when it was cancelled.

    The first Ctrl-C or SIGTERM requests a stop and prints the message, the second one cancels the work. `final` says
    whether the stop applies to all processes of the run.
    """

    async def interruptible() -> T:
        task = asyncio.current_task()
        assert task is not None

        def interrupt() -> None:
            if stop.reason:
                task.cancel()
                return
            stop.request("interrupted", final=final)
            write_line(message)

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, interrupt)
        return await work

    with suppress(asyncio.CancelledError):
        return asyncio.run(interruptible())
    return None
