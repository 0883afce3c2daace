"""What ./run does once Python is ready: prepare this machine, start every process, keep them, stop them.

Web server, streamer, workers and (unless REDIS_URL names one) the queue server run as children, each with a
log in var/logs. A child that ends is started again. Ctrl-C or SIGTERM ends all of them within ten seconds;
should the supervisor itself be killed, the kernel kills them.
"""

import argparse
import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from django.core.exceptions import ImproperlyConfigured

from config import system_packages, valkey
from config.folders import make_private_folder
from config.managed_process import Part, end_of_log, rotate, write_processes

if TYPE_CHECKING:
    from types import ModuleType

START_TIMEOUT = 60.0
"""Seconds the queue server and the pages each have to answer at the start."""

LEAST_FREE_DISK = 50_000_000
"""Bytes without which the database and the logs of a start could not be written."""

LOG_CHECK = 60.0
"""Seconds between looks at the size of the logs."""

MANAGE = (sys.executable, str(Path(__file__).resolve().parent.parent / "manage.py"))

HELP = """\
Sets up what is missing and runs Hintbench on this machine until Ctrl-C.

The environment configures it; docs/operator.md lists every variable. The most used:
  PORT            port of the pages (8000)
  HOST            address to listen on (127.0.0.1; anything else needs HTTPS=1)
  WORKERS         processes that judge and benchmark (1)
  HINTBENCH_VAR   folder for everything written (var/)
  DATABASE_URL    postgres://… instead of SQLite
  REDIS_URL       redis://… instead of a queue server of its own
  OPENAI_API_KEY, ANTHROPIC_API_KEY, COMPATIBLE_BASE_URL and COMPATIBLE_API_KEY   real models
"""


class CannotStart(Exception):
    """Hintbench cannot be started; the message says why and what to do."""


def tell(line: str) -> None:
    """Show a line to the operator at once."""
    print(line, flush=True)  # noqa: T201  (the output of a command)


def main() -> int:
    """Run until a signal comes; 0 after an orderly stop, 2 when it could not start."""
    argparse.ArgumentParser(
        prog="./run", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    try:
        from config import settings  # here, so that a wrong variable gives one line and no traceback

        make_private_folder(settings.VAR)
        check_free_disk(settings.VAR)
        with only_one_here(settings.VAR):
            asyncio.run(Supervisor(settings).run())
    except (ImproperlyConfigured, CannotStart, valkey.NoQueueServer) as error:
        tell(f"Hintbench cannot start: {error}")
        return 2
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        tell(f"Hintbench cannot start: {reason}. HINTBENCH_VAR names the folder that it writes to.")
        return 2
    return 0


def check_free_disk(var: Path) -> None:
    """Raise CannotStart when less than LEAST_FREE_DISK is free where everything is written."""
    free = shutil.disk_usage(var).free
    if free < LEAST_FREE_DISK:
        raise CannotStart(
            f"only {free / 1e6:.0f} MB are free where {var} lies, and {LEAST_FREE_DISK / 1e6:.0f} MB are needed. "
            "Free some, or set HINTBENCH_VAR to a folder on another disk."
        )


def only_one_here(var: Path) -> TextIO:
    """The lock on this variable folder. The kernel gives it up when this process ends, however it ends."""
    lock = (var / "run.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        where = ""
        with suppress(OSError, ValueError, KeyError):
            processes = json.loads((var / "processes.json").read_text())
            where = f" at {processes['address']} (process {processes['supervisor']})"
            if processes["stopping"]:
                raise CannotStart(f"the one in {var}{where} is stopping. Try again in ten seconds.") from None
        raise CannotStart(
            f"it is already running in {var}{where}. Stop it, or set HINTBENCH_VAR and PORT."
        ) from None
    return lock


class Supervisor:
    """Starts the parts in their order, waits for a signal, stops them in the opposite order."""

    def __init__(self, settings: "ModuleType") -> None:
        self._settings = settings
        self._var: Path = settings.VAR
        self._logs = self._var / "logs"
        self._host: str = settings.HOST
        self._port: int = settings.PORT
        self._address = f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}/"
        self._parts: list[Part] = []
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    async def run(self) -> None:
        """Returns after a signal, when everything has ended. Raises CannotStart or NoQueueServer."""
        self._check_port()
        self._logs.mkdir(exist_ok=True)
        signalled = asyncio.create_task(_stop_signal())
        starting = asyncio.create_task(self._start())
        try:
            await asyncio.wait({starting, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await signalled
            tell("Stopping …")
        finally:
            self._stopping = True
            self._note_processes()
            await _cancel([starting])
            queue = [self._keepers.pop(name) for name in ("valkey",) if name in self._keepers]
            await _cancel(list(self._keepers.values()))
            await _cancel(queue)  # last, because the workers sign off there
            (self._var / "processes.json").unlink(missing_ok=True)

    async def _start(self) -> None:
        await asyncio.to_thread(system_packages.install_missing, tell)
        if shutil.which("setpriv") is None:
            raise CannotStart(
                "setpriv is missing, which ties the processes together: apt-get install util-linux"
            )
        if not os.environ.get("REDIS_URL", "").strip():
            await self._start_queue_server()
        tell("Preparing the database …")
        status, logins = await _manage("prepare")
        if status:
            raise CannotStart(
                f"`manage.py prepare` has failed (exit status {status}); its messages are above."
            )
        web = self._keep("web", sys.executable, "-m", "uvicorn", *self._web_arguments())
        self._keep("streamer", *MANAGE, "streamer")
        for number in range(1, self._settings.WORKERS + 1):
            self._keep(f"worker-{number}", *MANAGE, "worker")
        self._keepers["logs"] = asyncio.create_task(_keep_logs_small(self._logs))
        if not await self._pages_answer():
            raise CannotStart(f"the pages do not answer at {self._address}. {end_of_log(web.log)}")
        tell(f"\nHintbench is ready: {self._address}\n\n{logins}Logs: {self._logs}    Stop: Ctrl-C")
        _, problems = await _manage("doctor", "--problems")
        if problems:
            tell(f"\n{problems}")

    async def _start_queue_server(self) -> None:
        """Start the server; data that it cannot load are moved aside, for another program may have written them."""
        program = valkey.server_program()
        version = await asyncio.to_thread(valkey.version_of, program)
        queue = self._keep("valkey", *valkey.server_command(program, self._var))
        if not await self._queue_server_answers(queue):
            aside = valkey.move_data_aside(self._var) if queue.failures else None
            if aside is None or not await self._queue_server_answers(queue):
                if aside:
                    valkey.put_data_back(self._var, aside)
                raise CannotStart(f"the queue server does not answer. {end_of_log(queue.log)}")
            writer = valkey.last_writer(self._var) or "another server"
            tell(
                f"{version} cannot read the queue's data, which {writer} wrote. They are now in {aside}; "
                "nothing is lost, because workers find every waiting row in the database."
            )
        valkey.remember_writer(self._var, version)

    async def _queue_server_answers(self, queue: Part) -> bool:
        known = queue.failures
        return await valkey.wait_for_server(self._var, START_TIMEOUT, lambda: queue.failures > known)

    def _keep(self, name: str, *command: str) -> Part:
        part = Part(name, command, self._logs, tell, self._note_processes)
        self._parts.append(part)
        self._keepers[name] = asyncio.create_task(part.keep_running())
        return part

    def _note_processes(self) -> None:
        # The file only informs: a full disk must not end processes that run.
        with suppress(OSError):
            write_processes(self._var / "processes.json", self._address, self._parts, stopping=self._stopping)

    def _check_port(self) -> None:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._host, self._port))
            except OSError as error:
                raise CannotStart(
                    f"port {self._port} of {self._host} cannot be used ({error.strerror}). "
                    f"Choose another: PORT={self._port + 1} ./run"
                ) from None

    def _web_arguments(self) -> list[str]:
        """Options of uvicorn. Open live pages get three seconds to end; a message above 1 MiB is refused."""
        options = {
            "host": self._host,
            "port": str(self._port),
            "ws": "websockets-sansio",
            "ws-max-size": str(2**20),
            "lifespan": "off",
            "timeout-graceful-shutdown": "3",
        }
        words = (word for name, value in options.items() for word in (f"--{name}", value))
        return ["config.asgi:application", *words, "--no-access-log", "--no-server-header"]

    async def _pages_answer(self) -> bool:
        """Whether /healthz says 200 within START_TIMEOUT, asked as the proxy in front would ask."""
        host = self._settings.ALLOWED_HOSTS[0].removeprefix(".").replace("*", "localhost")
        headers = {"Host": host} | ({"X-Forwarded-Proto": "https"} if self._settings.HTTPS else {})
        request = urllib.request.Request(f"{self._address}healthz", headers=headers)  # noqa: S310  (our own)

        def answers() -> bool:
            try:
                with urllib.request.urlopen(request, timeout=5) as response:  # noqa: S310
                    return bool(response.status == 200)
            except OSError:
                return False

        loop = asyncio.get_running_loop()
        end = loop.time() + START_TIMEOUT
        while loop.time() < end:
            if await asyncio.to_thread(answers):
                return True
            await asyncio.sleep(0.1)
        return False


async def _stop_signal() -> None:
    """Returns when the operator wants an end: Ctrl-C, SIGTERM, or a closed terminal (unless under nohup).

    SIGINT counts even where it was ignored before: a shell script that starts `./run &` leaves it so.
    """
    came = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, came.set)
    await came.wait()


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _keep_logs_small(logs: Path) -> None:
    while True:
        await asyncio.sleep(LOG_CHECK)
        for log in logs.glob("*.log"):
            rotate(log)


async def _manage(*words: str) -> tuple[int, str]:
    """Run a management command; its exit status and standard output. Its errors go to the terminal."""
    process = await asyncio.create_subprocess_exec(
        *MANAGE,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    return process.returncode or 0, output.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
