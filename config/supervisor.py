"""The supervisor behind ./run: it prepares this machine, then starts, restarts and stops every process.

Web server, streamer, judge workers, a model worker and (unless REDIS_URL names one) the queue server are child
processes, each with a log in var/logs. Ctrl-C or SIGTERM stops all of them within ten seconds; if the supervisor itself
is killed, the kernel kills them.
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
from config.env import Secret, environment_with
from config.folders import UnusableFolderError, describe_unusable, make_private_folder
from config.managed_process import ManagedProcess, end_of_log, rotate, write_process_list
from config.version import VERSION

if TYPE_CHECKING:
    from types import ModuleType

START_TIMEOUT = 60.0
"""Seconds within which the queue server and the web server must each answer after their start."""

LOG_CHECK_INTERVAL = 60.0
"""Seconds between checks of the size of the logs."""

MANAGE = (sys.executable, str(Path(__file__).resolve().parent.parent / "manage.py"))

HELP = """\
Install missing programs and packages, and run Hintbench on this machine until Ctrl-C.

Environment variables configure it; docs/operator.md lists all of them. The most used:
  PORT            port of the web server (8000)
  HOST            address of the web server (127.0.0.1; any other address needs HTTPS=1)
  WORKERS         number of judge workers, which run programs (one per core, at least 2)
  STREAMERS       number of processes that stream replies (2: one continues the replies of the other)
  HINTBENCH_VAR   folder for all data and logs (var/)
  DATABASE_URL    postgres://… to use PostgreSQL instead of SQLite
  REDIS_URL       redis://… to use your own queue server
  OPENAI_API_KEY, ANTHROPIC_API_KEY, COMPATIBLE_BASE_URL and COMPATIBLE_API_KEY   model providers
  MODEL_ENDPOINT_NAME_URL and MODEL_ENDPOINT_NAME_KEY   any number of named model servers
"""


class CannotStartError(Exception):
    """The error that Hintbench cannot be started; the message says why and what to do."""


def tell(line: str) -> None:
    """Print a line without buffering."""
    print(line, flush=True)  # noqa: T201  (the output of a command)


def main() -> int:
    """Run until a signal arrives; return 0 after a normal stop, 2 if the start failed."""
    parser = argparse.ArgumentParser(
        prog="./run", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"Hintbench {VERSION}")
    parser.parse_args()
    try:
        from config import settings  # an invalid variable must give one line and no traceback

        make_private_folder(settings.VAR)
        with exclusive_lock(settings.VAR):
            asyncio.run(Supervisor(settings).run())
    except (ImproperlyConfigured, CannotStartError, UnusableFolderError, valkey.NoQueueServerError) as error:
        tell(f"Hintbench cannot start: {error}")
        return 2
    except OSError as error:
        tell(f"Hintbench cannot start: {describe_unusable(error) if error.filename else error}")
        return 2
    return 0


def exclusive_lock(var: Path) -> TextIO:
    """Lock the variable folder for this process; the kernel releases the lock when the process ends.

    Raises CannotStartError if another supervisor holds the lock.
    """
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
                raise CannotStartError(
                    f"another Hintbench in {var}{where} is stopping. Try again in ten seconds."
                ) from None
        raise CannotStartError(
            f"Hintbench is already running in {var}{where}. Stop it, or set HINTBENCH_VAR and PORT."
        ) from None
    return lock


class Supervisor:
    """The start, supervision and stop of every process; the queue server starts first and stops last."""

    def __init__(self, settings: "ModuleType") -> None:
        self._settings = settings
        self._var: Path = settings.VAR
        self._logs = self._var / "logs"
        self._host: str = settings.HOST
        self._port: int = settings.PORT
        self._address = f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}/"
        self._processes: list[ManagedProcess] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    async def run(self) -> None:
        """Run until a signal has arrived and every process has ended. Raises CannotStartError or NoQueueServerError."""
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
            self._write_process_list()
            await _cancel([starting])
            queue = [self._tasks.pop(name) for name in ("valkey",) if name in self._tasks]
            await _cancel(list(self._tasks.values()))
            await _cancel(queue)  # last, because workers unregister there
            (self._var / "processes.json").unlink(missing_ok=True)

    async def _start(self) -> None:
        await asyncio.to_thread(system_packages.install_missing, system_packages.REQUIRED_TO_RUN, tell)
        if shutil.which("setpriv") is None:
            raise CannotStartError(
                "the program setpriv, which starts every process, is missing: apt-get install util-linux"
            )
        if not os.environ.get("REDIS_URL", "").strip():
            await self._start_queue_server()
        tell("Preparing the database …")
        status, logins = await _manage("prepare")
        if status:
            raise CannotStartError(
                f"`manage.py prepare` failed with exit status {status}; see its messages above."
            )
        uvicorn = (sys.executable, "-m", "uvicorn", *self._web_arguments())
        web = self._start_process("web", *uvicorn, secrets=(Secret.WEB, Secret.STORES))
        models = (Secret.PROVIDERS, Secret.STORES)
        for number in range(1, self._settings.STREAMERS + 1):
            name = "streamer" if number == 1 else f"streamer-{number}"
            self._start_process(name, *MANAGE, "streamer", secrets=models)
        for number in range(1, self._settings.WORKERS + 1):
            judge = (*MANAGE, "worker", "--kind", "judge")
            self._start_process(f"worker-{number}", *judge, secrets=(Secret.STORES,))
        self._start_process("model-worker", *MANAGE, "worker", "--kind", "model", secrets=models)
        self._tasks["logs"] = asyncio.create_task(_rotate_logs(self._logs))
        if not await self._web_server_answers():
            raise CannotStartError(
                f"the web server does not answer at {self._address}. {end_of_log(web.log)}"
            )
        tell(f"\nHintbench is ready: {self._address}\n\n{logins}Logs: {self._logs}    Stop: Ctrl-C")
        _, problems = await _manage("doctor", "--problems")
        if problems:
            tell(f"\n{problems}")

    async def _start_queue_server(self) -> None:
        """Start the queue server. Data that it cannot read, for example from another program, are moved aside."""
        program = valkey.server_program()
        version = await asyncio.to_thread(valkey.version_of, program)
        queue = self._start_process("valkey", *valkey.server_command(program, self._var))
        if not await self._queue_server_answers(queue):
            aside = valkey.move_data_aside(self._var) if queue.failures else None
            if aside is None or not await self._queue_server_answers(queue):
                if aside:
                    valkey.put_data_back(self._var, aside)
                raise CannotStartError(f"the queue server does not answer. {end_of_log(queue.log)}")
            writer = valkey.last_writer(self._var) or "another server"
            tell(
                f"{version} cannot read the queue's data, which {writer} wrote. They were moved to {aside}. "
                "Nothing is lost, because workers find every waiting row in the database."
            )
        valkey.record_writer(self._var, version)

    async def _queue_server_answers(self, queue: ManagedProcess) -> bool:
        before = queue.failures
        return await valkey.wait_for_server(self._var, START_TIMEOUT, lambda: queue.failures > before)

    def _start_process(self, name: str, *command: str, secrets: tuple[Secret, ...] = ()) -> ManagedProcess:
        """Start a process, which gets these groups of secrets only."""
        environment = environment_with(os.environ, *secrets)
        process = ManagedProcess(
            name, command, self._logs, tell, self._write_process_list, environment=environment
        )
        self._processes.append(process)
        self._tasks[name] = asyncio.create_task(process.keep_running())
        return process

    def _write_process_list(self) -> None:
        # The file is informative only: a full disk must not stop running processes.
        with suppress(OSError):
            write_process_list(
                self._var / "processes.json", self._address, self._processes, stopping=self._stopping
            )

    def _check_port(self) -> None:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._host, self._port))
            except OSError as error:
                raise CannotStartError(
                    f"port {self._port} of {self._host} cannot be used ({error.strerror}). "
                    f"Choose another: PORT={self._port + 1} ./run"
                ) from None

    def _web_arguments(self) -> list[str]:
        """Return the arguments of uvicorn: live pages get 3 seconds to close; messages above 1 MiB are rejected."""
        options = {
            "host": self._host,
            "port": str(self._port),
            "ws": "websockets-sansio",
            "ws-max-size": str(2**20),
            "ws-per-message-deflate": "false",  # text arrives in small pieces, which compression hardly shortens
            "lifespan": "off",
            "timeout-graceful-shutdown": "3",
        }
        words = (word for name, value in options.items() for word in (f"--{name}", value))
        return [
            "config.asgi:application",
            *words,
            "--no-access-log",
            "--no-server-header",
            "--no-proxy-headers",
        ]

    async def _web_server_answers(self) -> bool:
        """Return whether /healthz answers with status 200 within START_TIMEOUT, with the headers of a proxy."""
        host = self._settings.ALLOWED_HOSTS[0].removeprefix(".").replace("*", "localhost")
        headers = {"Host": host} | ({"X-Forwarded-Proto": "https"} if self._settings.HTTPS else {})
        request = urllib.request.Request(f"{self._address}healthz", headers=headers)  # noqa: S310  (the address of this supervisor)

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
    """Wait for Ctrl-C, SIGTERM or a closed terminal (unless nohup ignores it).

    SIGINT stops Hintbench even if it was ignored before, as in a shell script that starts `./run &`.
    """
    arrived = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, arrived.set)
    await arrived.wait()


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _rotate_logs(logs: Path) -> None:
    while True:
        await asyncio.sleep(LOG_CHECK_INTERVAL)
        for log in logs.glob("*.log"):
            with suppress(OSError):  # a full disk must not end the rotation for ever
                rotate(log)


async def _manage(*words: str) -> tuple[int, str]:
    """Run a management command; return its exit status and standard output. Its errors go to the terminal."""
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
