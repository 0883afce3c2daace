"""Log rotation of supervised processes."""

import asyncio
from pathlib import Path

import pytest

from config import managed_process, supervisor
from tests.stack import HANG


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


async def test_a_full_disk_does_not_end_the_rotation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(managed_process, "LOG_LIMIT", 1)
    monkeypatch.setattr(supervisor, "LOG_CHECK_INTERVAL", 0)
    log = tmp_path / "web.log"
    (tmp_path / "web.log.1").mkdir()  # so no copy can be written
    rotation = asyncio.create_task(supervisor._rotate_logs(tmp_path))
    for _ in range(2):
        log.write_bytes(b"a long line\n")
        async with asyncio.timeout(HANG):
            while log.stat().st_size:
                assert not rotation.done()
                await asyncio.sleep(0)
    rotation.cancel()


def test_the_end_of_a_log_is_shown_even_if_it_is_not_text(tmp_path: Path):
    log = tmp_path / "web.log"
    log.write_bytes(b"".join(b"%d\n" % number for number in range(20)) + b"\xff\n")
    assert managed_process.end_of_log(log).splitlines() == [
        f"The end of {log}:",
        *(f"    {number}" for number in range(13, 20)),
        "    \ufffd",
    ]
    assert managed_process.end_of_log(tmp_path / "none.log") == f"The end of {tmp_path / 'none.log'}:"
