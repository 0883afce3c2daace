"""The processes of one machine: each is started, watched, started again when it ends, and stopped."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

STOP_GRACE = 5.0
"""Seconds between the request to end and the kill."""

SHORT_LIFE = 10.0
"""Seconds: a process that ends sooner failed to start, and the next start waits."""

LONGEST_PAUSE = 30.0
"""Seconds: the most a failing process waits for its next start."""

LOG_LIMIT = 10_000_000
"""Bytes after which a log is moved aside; one older log is kept."""

QUIET_RESTARTS = 2
"""Failed starts in a row before the last lines of the log are shown."""


class Part:
    """One long-running process with its log.

    It leads a process group of its own, so that Ctrl-C in the terminal reaches only the supervisor and a stop
    reaches whatever the process has started. The kernel kills it when the supervisor dies in whatever way
    (`setpriv --pdeathsig`), so that no process is ever left alone.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        logs: Path,
        tell: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        """`tell` shows a line to the operator; `changed` is called whenever `pid` has changed."""
        self.name = name
        self.log = logs / f"{name}.log"
        self.pid: int | None = None
        self.failures = 0
        """Starts in a row that failed: the process ended within SHORT_LIFE seconds."""
        self._command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        self._tell = tell
        self._changed = changed

    async def keep_running(self) -> None:
        """Run the process until this coroutine is cancelled; then end it, within STOP_GRACE."""
        while True:
            started = time.monotonic()
            try:
                how = await self._run_once()
            except OSError as error:
                how = str(error)
            self.failures = self.failures + 1 if time.monotonic() - started < SHORT_LIFE else 0
            pause = min(0.5 * 2 ** (self.failures - 1), LONGEST_PAUSE) if self.failures else 0.0
            self._report(how, pause)
            await asyncio.sleep(pause)

    async def _run_once(self) -> str:
        """Start the process, wait for its end and say how it ended."""
        rotate(self.log)
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.pid = process.pid
            self._changed()
            status = await process.wait()
        finally:
            await _end_group(process)
            self.pid = None
        self._changed()
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def _report(self, how: str, pause: float) -> None:
        again = f"starting it again in {pause:g} s" if pause else "starting it again"
        self._tell(f"{self.name} has ended ({how}); {again}.")
        if self.failures > QUIET_RESTARTS:
            self._tell(f"{self.name} has failed {self.failures} times in a row. {end_of_log(self.log)}")


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the process to end, and kill whatever of its group is left after STOP_GRACE."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def rotate(log: Path) -> None:
    """Move a log above LOG_LIMIT aside. Its writer may go on: it appends to the emptied file."""
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)


def end_of_log(log: Path) -> str:
    """The last eight lines of a log, for a message to a person."""
    lines = log.read_text(errors="replace").splitlines()[-8:] if log.exists() else []
    return "".join([f"The end of {log}:", *(f"\n    {line}" for line in lines)])


def write_processes(path: Path, address: str, parts: Sequence[Part], *, stopping: bool) -> None:
    """Note who runs: `{"address", "supervisor": pid, "stopping", "parts": {name: pid or null}}`, in one step."""
    temporary = path.with_name(f"{path.name}.new")
    processes = {
        "address": address,
        "supervisor": os.getpid(),
        "stopping": stopping,
        "parts": {part.name: part.pid for part in parts},
    }
    temporary.write_text(json.dumps(processes))
    temporary.replace(path)
