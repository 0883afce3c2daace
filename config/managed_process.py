"""A managed process: it is started, restarted when it ends, stopped with its process group, and logged."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

FAILED_START = 10.0
"""Seconds: a process that ends sooner counts as a failed start, and the next start is delayed."""

MAXIMUM_DELAY = 30.0
"""Seconds: the longest delay before a restart."""

LOG_LIMIT = 10_000_000
"""Bytes above which a log is rotated; one older log is kept."""

QUIET_FAILURES = 2
"""Failed starts in a row before a report includes the last lines of the log."""


class ManagedProcess:
    """One long-running process with its log.

    The process leads its own process group: Ctrl-C in the terminal reaches only the supervisor, and a stop reaches
    every child of the process. `setpriv --pdeathsig` makes the kernel kill the process when the supervisor dies for
    any reason.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        logs: Path,
        tell: Callable[[str], None],
        on_pid_change: Callable[[], None],
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare a process; `tell` shows a line to the operator, `on_pid_change` runs after `pid` has changed.

        `environment` replaces the environment of this process.
        """
        self.name = name
        self.log = logs / f"{name}.log"
        self.pid: int | None = None
        self.failures = 0
        """Failed starts in a row."""
        self._command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        self._tell = tell
        self._on_pid_change = on_pid_change
        self._environment = environment

    async def keep_running(self) -> None:
        """Run and restart the process until this coroutine is cancelled; then stop it within STOP_GRACE seconds."""
        while True:
            started = time.monotonic()
            try:
                reason = await self._run_once()
            except OSError as error:
                reason = str(error)
            self.failures = self.failures + 1 if time.monotonic() - started < FAILED_START else 0
            delay = min(0.5 * 2 ** (self.failures - 1), MAXIMUM_DELAY) if self.failures else 0.0
            self._report(reason, delay)
            await asyncio.sleep(delay)

    async def _run_once(self) -> str:
        """Start the process, wait until it ends, and return its signal or exit status as text."""
        rotate(self.log)
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                env=self._environment,
            )
        try:
            self.pid = process.pid
            self._on_pid_change()
            status = await process.wait()
        finally:
            await _stop_group(process)
            self.pid = None
        self._on_pid_change()
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def _report(self, reason: str, delay: float) -> None:
        restart = f"restarting it in {delay:g} s" if delay else "restarting it"
        self._tell(f"{self.name} has ended ({reason}); {restart}.")
        if self.failures > QUIET_FAILURES:
            self._tell(f"{self.name} has failed {self.failures} times in a row. {end_of_log(self.log)}")


async def _stop_group(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM to the process group, and SIGKILL to the rest of it after STOP_GRACE seconds."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def rotate(log: Path) -> None:
    """Copy a log above LOG_LIMIT to `NAME.1` and empty it, even if the disk has no space for the copy.

    Its writer may continue, because it appends. Raises OSError.
    """
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        try:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        finally:
            os.truncate(log, 0)


def end_of_log(log: Path) -> str:
    """Return the last eight lines of a log under a heading, for a message to the operator."""
    lines = log.read_text(errors="replace").splitlines()[-8:] if log.exists() else []
    return "".join([f"The end of {log}:", *(f"\n    {line}" for line in lines)])


def write_process_list(
    path: Path, address: str, processes: Sequence[ManagedProcess], *, stopping: bool
) -> None:
    """Write `{"address", "supervisor": pid, "stopping", "processes": {name: pid or null}}` atomically."""
    temporary = path.with_name(f"{path.name}.new")
    document = {
        "address": address,
        "supervisor": os.getpid(),
        "stopping": stopping,
        "processes": {process.name: process.pid for process in processes},
    }
    temporary.write_text(json.dumps(document))
    temporary.replace(path)
