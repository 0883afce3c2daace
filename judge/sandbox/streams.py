"""Reading what a sandboxed program prints and what its launcher reports, without ever waiting for one of them."""

import os
import selectors
import socket
import subprocess
import time
from dataclasses import dataclass

from judge.sandbox.interface import STDERR_LIMIT, SandboxFault

_CHUNK = 2**18
_REPORT_LIMIT = 2**12


@dataclass(frozen=True)
class Collected:
    """Everything a run said. `too_much`: the program was stopped because it printed beyond the limit."""

    stdout: bytes
    stderr: bytes
    report: str
    too_much: bool


def collect(
    process: subprocess.Popen[bytes], report: socket.socket, output_limit: int, deadline: float
) -> Collected:
    """Read until all streams have ended.

    Standard output beyond the limit stops the run; standard error beyond its limit is read and thrown away.
    Raises SandboxFault when the streams have not ended after `deadline` seconds.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    end = time.monotonic() + deadline
    limits = {process.stdout.fileno(): output_limit, process.stderr.fileno(): STDERR_LIMIT}
    limits[report.fileno()] = _REPORT_LIMIT
    texts = {descriptor: bytearray() for descriptor in limits}
    too_much = False
    with selectors.DefaultSelector() as selector:
        for descriptor in limits:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise SandboxFault(f"the sandbox did not end within {deadline:.0f} s")
            for key, _ in selector.select(remaining):
                descriptor = key.fd
                data = _read(descriptor)
                if not data:
                    selector.unregister(descriptor)
                    continue
                room = limits[descriptor] - len(texts[descriptor])
                texts[descriptor] += data[:room]
                if len(data) > room and descriptor == process.stdout.fileno() and not too_much:
                    too_much = True
                    report.shutdown(socket.SHUT_WR)  # tells the launcher to stop the run
    out, error, said = (bytes(text) for text in texts.values())
    return Collected(out, error, said.decode("utf-8", "replace"), too_much)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except ConnectionResetError:
        return b""
