"""A decoder of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

from collections.abc import AsyncIterator

_BOM = b"\xef\xbb\xbf"


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event, with its `data:` lines joined by LF.

    Lines may end with LF, CR or CRLF, and pieces may end anywhere, even within a character. Comments, other fields and
    events without data are skipped, as is an event that the end of the stream cuts off.
    """
    rest, data = b"", list[bytes]()
    first = True
    after_cr = False
    async for piece in pieces:
        text = piece.removeprefix(b"\n") if after_cr else piece
        after_cr = piece.endswith(b"\r") if piece else after_cr
        lines = (rest + text).splitlines(keepends=True)
        rest = lines.pop() if lines and not lines[-1].endswith((b"\r", b"\n")) else b""
        for line in lines:
            content = line.rstrip(b"\r\n")
            if first:
                content, first = content.removeprefix(_BOM), False
            if not content:
                if data:
                    yield b"\n".join(data)
                    data = []
                continue
            field, _, value = content.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
