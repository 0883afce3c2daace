"""The logs of the supervised processes stay small while their writers go on."""

from pathlib import Path

import pytest

from config import parts


def test_a_large_log_is_moved_aside_and_its_writer_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(parts, "LOG_LIMIT", 10)
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"the first eleven\n")
        parts.rotate(log)
        writer.write(b"then\n")
        parts.rotate(log)
    assert (tmp_path / "web.log.1").read_bytes() == b"the first eleven\n"
    assert log.read_bytes() == b"then\n"


def test_the_end_of_a_log_is_shown_even_when_it_is_no_text(tmp_path: Path):
    log = tmp_path / "web.log"
    log.write_bytes(b"".join(b"%d\n" % number for number in range(20)) + b"\xff\n")
    assert parts.end_of_log(log).splitlines() == [
        f"The end of {log}:",
        *(f"    {number}" for number in range(13, 20)),
        "    \ufffd",
    ]
    assert parts.end_of_log(tmp_path / "none.log") == f"The end of {tmp_path / 'none.log'}:"
