"""Packets between the judge and the launcher, which carry words and descriptors, and the descriptors' ends."""

import os
from array import array
from collections.abc import Sequence
from socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket

LONGEST = 2**16
"""Bytes of the longest packet."""

MOST_DESCRIPTORS = 250
"""Descriptors in one packet; the kernel allows 253."""

_SPACE = CMSG_SPACE(MOST_DESCRIPTORS * array("i").itemsize)


class Descriptors(list[int]):
    """Open descriptors, which are closed with the block."""

    def __enter__(self) -> "Descriptors":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all of them."""
        while self:
            os.close(self.pop())

    def add(self, descriptor: int) -> int:
        """Add a descriptor and return it."""
        self.append(descriptor)
        return descriptor


def send(to: socket, words: Sequence[str], descriptors: Sequence[int]) -> None:
    """Send one packet. Raises OSError, and ValueError where it is too long."""
    packet = ("\0".join(words) + "\0").encode()
    if len(packet) >= LONGEST or len(words) > MOST_DESCRIPTORS or len(descriptors) > MOST_DESCRIPTORS:
        raise ValueError("a run has too many arguments or files")
    to.sendmsg([packet], [(SOL_SOCKET, SCM_RIGHTS, array("i", descriptors))])


def receive(from_: socket) -> tuple[bytes, Descriptors]:
    """Receive one packet: its content, empty at the end of the connection, and its descriptors. Raises OSError."""
    packet, ancillary, _, _ = from_.recvmsg(LONGEST, _SPACE)
    received = Descriptors()
    for _, _, data in ancillary:
        received += array("i", data)
    return packet, received
