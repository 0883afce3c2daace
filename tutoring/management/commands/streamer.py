"""`manage.py streamer`: write the models' replies in tutoring sessions until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmark.processes import exclude_loaded_objects
from tutoring.replies.streamer import Streamer


class Command(BaseCommand):
    help = "Write the models' replies in tutoring sessions until stopped. Several streamers may run at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--limit", type=int, default=200, help="replies written at once (default 200)")

    def handle(self, *_: Any, limit: int, **__: Any) -> None:
        if limit < 1:
            self.stderr.write("--limit must be at least 1")
            raise SystemExit(2)
        exclude_loaded_objects()
        asyncio.run(_serve(limit))


async def _serve(limit: int) -> None:
    serving = asyncio.create_task(Streamer(limit).run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving
