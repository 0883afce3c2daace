"""Log rotation of supervised processes."""

from pathlib import Path

import pytest

from config import managed_process


def test_a_large_log_is_rotated_while_its_writer_continues(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(managed_process, "LOG_LIMIT", 10)
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"the first eleven\n")
        managed_process.rotate(log)
        writer.write(b"then\n")
        managed_process.rotate(log)
    assert (tmp_path / "web.log.1").read_bytes() == b"the first eleven\n"
    assert log.read_bytes() == b"then\n"


def test_the_end_of_a_log_is_shown_even_if_it_is_not_text(tmp_path: Path):
    log = tmp_path / "web.log"
    log.write_bytes(b"".join(b"%d\n" % number for number in range(20)) + b"\xff\n")
    assert managed_process.end_of_log(log).splitlines() == [
        f"The end of {log}:",
        *(f"    {number}" for number in range(13, 20)),
        "    \ufffd",
    ]
    assert managed_process.end_of_log(tmp_path / "none.log") == f"The end of {tmp_path / 'none.log'}:"
