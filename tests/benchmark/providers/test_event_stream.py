"""Decoding of server-sent events, whatever their line ends and wherever the pieces of the stream end."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.providers.event_stream import event_data

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8)
END = st.sampled_from(["\n", "\r", "\r\n"])
OTHER = st.builds(
    "{}{}".format, st.sampled_from([":", "event: ", "id: ", "retry:", "unknown: ", "datax: "]), TEXT
)
EVENT = st.tuples(st.lists(TEXT, max_size=3), st.lists(OTHER, max_size=3), st.booleans())


def decode(pieces: list[bytes]) -> list[bytes]:
    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> list[bytes]:
        return [data async for data in event_data(stream())]

    return asyncio.run(read())


@pytest.mark.slow
@given(st.lists(EVENT, max_size=5), st.data(), st.booleans())
def test_events_are_decoded_wherever_the_pieces_end(
    events: list[tuple[list[str], list[str], bool]], data: st.DataObject, mark: bool
) -> None:
    text = "\ufeff" if mark else ""
    for lines, others, spaced in events:
        fields = [f"data:{' ' if spaced or line.startswith(' ') else ''}{line}" for line in lines]
        for line in [*data.draw(st.permutations([*others])), *fields, ""]:
            end = data.draw(END)
            # CR and LF together are one line end, so an empty line between them needs another one.
            text += line + ("\r" if not line and text.endswith("\r") and end == "\n" else end)
    stream = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    expected = ["\n".join(lines).encode() for lines, _, _ in events if lines]
    assert decode(pieces) == expected
    assert decode([bytes([byte]) for byte in stream]) == expected


def test_fields_comments_and_line_ends() -> None:
    assert decode([b": ping\r\n\r\nevent: message\r\ndata: {\r\ndata:  1}\r\nid: 7\r\n\r\n"]) == [b"{\n 1}"]
    assert decode([b"data\n\ndata:\n\n\n"]) == [b"", b""], "a field without a value is an empty line"
    assert decode([b"data: a\r", b"\n\r", b"\ndata: b\r\r"]) == [b"a", b"b"]


def test_a_character_may_be_split_between_pieces() -> None:
    whole = "data: é😀\u2028\n\n".encode()
    for cut in range(len(whole)):
        assert decode([whole[:cut], b"", whole[cut:]]) == ["é😀\u2028".encode()]


def test_an_event_that_the_end_of_the_stream_cuts_off_is_dropped() -> None:
    assert decode([b"data: a\n\ndata: b\n"]) == [b"a"]
