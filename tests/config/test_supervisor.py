"""./run's supervisor with real processes: it starts them, keeps them, and leaves none behind."""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import django_rq
import pytest
from redis import Redis

from config import supervisor, valkey
from config.parts import Part
from tests.stack import HANG, REPOSITORY, Stack, free_port

PARTS = {"valkey", "web", "streamer", "worker-1"}


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of this file's own, because its tests kill parts of it."""
    running = Stack(
        tmp_path_factory.mktemp("supervised"), DJANGO_SETTINGS_MODULE="tests.config.stack_settings"
    )
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


def process_is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_of(stack: Stack) -> list[int]:
    """Every process of this machine that was started for the stack's folder, its supervisor included."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
            if os.fsencode(stack.var) in words and process_is_alive(int(process.name)):
                found.append(int(process.name))
    return found


def resident_bytes(pid: int) -> int:
    """Memory that only this process uses, plus its share of what several use."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Pss")


def test_ready_means_every_part_runs_and_the_pages_answer(supervised: Stack):
    assert set(supervised.pids()) == PARTS
    status, body = supervised.get("/healthz")
    assert (status, json.loads(body)) == (200, {"status": "ok", "database": "ok", "queue": "ok"})
    assert supervised.url in supervised.output
    assert (
        "Demo logins: demo-adjudicator, demo-admin, demo-researcher, demo-reviewer, demo-tutor"
        in supervised.output
    )
    assert str(supervised.var / "logs") in supervised.output


def test_what_is_written_is_for_the_owner_only(supervised: Stack):
    assert supervised.var.stat().st_mode & 0o777 == 0o700
    for name in ("secret_key", "hintbench.sqlite3", "processes.json", "logs/web.log", "valkey.sock"):
        assert (supervised.var / name).stat().st_mode & 0o077 == 0, name


def test_at_rest_it_is_small_and_the_web_server_holds_no_provider_sdk(supervised: Stack):
    processes = [supervised.supervisor.pid, *supervised.pids().values()]
    assert sum(map(resident_bytes, processes)) < 700_000_000
    maps = Path(f"/proc/{supervised.pid_of('web')}/maps").read_text()
    # Both SDKs load jiter's compiled module, which nothing else here does.
    assert "jiter" not in maps


def test_every_killed_part_is_started_again(supervised: Stack):
    for part in sorted(PARTS):
        supervised.kill(part)
        supervised.wait_for(lambda: f"{part} has ended (SIGKILL)" in supervised.output)  # noqa: B023  (called here)
    supervised.wait_for(lambda: set(supervised.pids()) == PARTS)
    supervised.wait_until_healthy()


def test_a_second_start_in_the_same_folder_is_refused_and_says_where_the_first_one_is(supervised: Stack):
    second = subprocess.run(
        [sys.executable, "-m", "config.supervisor"],
        cwd=REPOSITORY,
        env=supervised.environment,
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert second.returncode == 2
    assert (
        f"already running in {supervised.var} at {supervised.url}/ (process {supervised.supervisor.pid})"
        in second.stdout
    )


def refused_start(**variables: str) -> str:
    """What a start prints that ends with status 2."""
    refused = subprocess.run(
        [sys.executable, "-m", "config.supervisor"],
        cwd=REPOSITORY,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings", "PORT": str(free_port())} | variables,
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert refused.returncode == 2, refused.stdout
    return refused.stdout


def test_a_start_while_another_one_stops_says_to_wait(tmp_path: Path):
    processes = {"address": "http://127.0.0.1:8000/", "supervisor": 77, "stopping": True, "parts": {}}
    (tmp_path / "processes.json").write_text(json.dumps(processes))
    with (tmp_path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        printed = refused_start(HINTBENCH_VAR=str(tmp_path))
    assert printed == (
        f"Hintbench cannot start: the one in {tmp_path} at http://127.0.0.1:8000/ (process 77) is stopping. "
        "Try again in ten seconds.\n"
    )


def test_a_folder_that_cannot_be_written_is_one_line():
    printed = refused_start(HINTBENCH_VAR="/proc/hintbench")
    assert printed.startswith("Hintbench cannot start: /proc/hintbench: ")
    assert printed.count("\n") == 1


def test_a_full_disk_stops_the_start_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2_000_000))
    with pytest.raises(supervisor.CannotStart, match=r"only 2 MB are free where .* and 50 MB are needed"):
        supervisor.check_free_disk(tmp_path)


async def test_a_process_whose_start_cannot_be_noted_is_not_left_alone(tmp_path: Path):
    """As on a full disk: what `changed` raises must not leave a process that nobody watches."""
    started: list[int] = []

    def changed() -> None:
        if part.pid is not None:
            started.append(part.pid)
            raise OSError("No space left on device")

    reported = asyncio.Event()
    part = Part("web", ["sleep", "600"], tmp_path, lambda line: reported.set(), changed)
    keeper = asyncio.create_task(part.keep_running())
    await asyncio.wait_for(reported.wait(), HANG)
    keeper.cancel()
    assert not process_is_alive(started[0])


def test_the_worker_takes_jobs_again_after_the_queue_server_was_killed(supervised: Stack, tmp_path: Path):
    result = tmp_path / "result"
    supervised.kill("valkey")
    supervised.wait_until_healthy()
    enqueue(supervised, "note", str(result), "done")
    supervised.wait_for(lambda: result.exists() and result.read_text() == "done\n")


def test_a_queued_job_survives_the_queue_server(supervised: Stack, tmp_path: Path):
    result = tmp_path / "result"
    worker = supervised.pid_of("worker-1")
    os.kill(worker, signal.SIGSTOP)
    try:
        enqueue(supervised, "note", str(result), "done")
        queue = queue_server(supervised)
        supervised.wait_for(lambda: queue.info("persistence")["aof_buffer_length"] == 0)
        supervised.kill("valkey")
        supervised.wait_until_healthy()
    finally:
        os.kill(worker, signal.SIGCONT)
    supervised.wait_for(lambda: result.exists() and result.read_text() == "done\n")


def test_a_judgement_whose_job_was_lost_is_performed_by_the_next_worker(supervised: Stack):
    program = "benchmark/practice_problems/seed-bank/submissions/accepted"
    source = next((REPOSITORY / program).glob("*.py"))
    supervised.manage(
        "shell",
        "--no-imports",
        "--command",
        "from datetime import timedelta\n"
        "from pathlib import Path\n"
        "from django.utils import timezone\n"
        "from benchmark.judging import request_judgement, store_submission\n"
        "from benchmark.models import Judgement, Problem\n"
        "problem = Problem.objects.get(external_id='seed-bank')\n"
        f"submission = store_submission(problem, Path({str(source)!r}).read_text(), 'python')\n"
        "judgement = request_judgement(submission)\n"
        "Judgement.objects.update(created_at=timezone.now() - timedelta(minutes=1))\n",
    )
    supervised.kill("worker-1")

    def verdict() -> str:
        with closing(sqlite3.connect(supervised.var / "hintbench.sqlite3")) as database:
            row = database.execute("SELECT verdict FROM benchmark_judgement").fetchone()
        return str(row[0])

    supervised.wait_for(verdict)
    assert verdict() == "AC"


def test_preparing_again_loads_nothing_twice_and_does_not_bring_deleted_demo_accounts_back(supervised: Stack):
    supervised.manage(
        "shell",
        "--no-imports",
        "--command",
        "from django.contrib.auth.models import User\n"
        "User.objects.filter(username__startswith='demo-').delete()\n"
        "User.objects.create(username='ada')\n",
    )
    again = supervised.manage("prepare")
    assert again.stdout == ""
    assert again.stderr == ""


def test_a_port_in_use_is_said_before_anything_starts(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        stack = Stack(tmp_path / "var", PORT=str(port))
        assert stack.supervisor.wait(HANG) == 2
        stack.stop()
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in stack.output
    assert not (tmp_path / "var" / "logs").exists()


async def test_a_part_that_keeps_failing_is_reported_with_the_end_of_its_log(tmp_path: Path):
    lines: list[str] = []
    reported = asyncio.Event()

    def tell(line: str) -> None:
        lines.append(line)
        if "failed 3 times in a row" in line:
            reported.set()

    part = Part("web", ["sh", "-c", "echo no luck today; exit 1"], tmp_path, tell, lambda: None)
    keeper = asyncio.create_task(part.keep_running())
    await asyncio.wait_for(reported.wait(), HANG)
    keeper.cancel()
    assert lines[0] == "web has ended (exit status 1); starting it again in 0.5 s."
    assert lines[-1].startswith("web has failed 3 times in a row.")
    assert "no luck today" in lines[-1]


def test_a_queue_server_that_cannot_start_ends_the_start_with_the_end_of_its_log(tmp_path: Path):
    stack = Stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "echo no luck today; exit 1"))
    assert stack.supervisor.wait(HANG) == 2
    stack.stop()
    assert "Hintbench cannot start: the queue server does not answer." in stack.output
    assert "no luck today" in stack.output


def test_it_starts_with_another_queue_server_that_cannot_read_the_former_ones_data(tmp_path: Path):
    """Newer Valkey first, as the wheel brings it, then an older Redis, as a system's package brings it."""
    redis = shutil.which("redis-server")
    if redis is None:
        if os.environ.get("CI"):
            pytest.fail("redis-server is missing: apt-get install redis-server")
        pytest.skip("needs redis-server: apt-get install redis-server")
    bundled = valkey.bundled_program()
    assert bundled is not None
    var = tmp_path / "var"
    with running_server(var, bundled):
        Redis(unix_socket_path=str(var / "valkey.sock")).set("waiting", "job")
    valkey.remember_writer(var, valkey.version_of(bundled))
    stack = Stack(var, PATH=path_with_valkey(tmp_path, f'exec "{redis}" "$@"')).wait_until_ready()
    try:
        assert (
            f"{valkey.version_of(redis)} cannot read the queue's data, which {valkey.version_of(bundled)} wrote"
            in (stack.output)
        )
        assert str(var / "valkey.unreadable-1") in stack.output
        assert valkey.last_writer(var) == valkey.version_of(redis)
        assert queue_server(stack).get("waiting") is None
        stack.wait_until_healthy()
    finally:
        stack.stop()
    (var / "valkey").rename(var / "of-redis")
    (var / "valkey.unreadable-1").rename(var / "valkey")
    with running_server(var, bundled):
        assert Redis(unix_socket_path=str(var / "valkey.sock")).get("waiting") == b"job"


def test_data_that_are_not_the_fault_stay_where_they_are(tmp_path: Path):
    data = tmp_path / "var" / "valkey"
    data.mkdir(parents=True, mode=0o700)
    (data / "appendonly.aof").write_text("kept")
    stack = Stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "echo no luck today; exit 1"))
    assert stack.supervisor.wait(HANG) == 2
    stack.stop()
    assert (data / "appendonly.aof").read_text() == "kept"
    assert [path.name for path in data.parent.glob("valkey*")] == ["valkey"]


@pytest.mark.parametrize(
    ("url", "missing"),
    [
        ("unix:///var/valkey.sock", ""),
        ("redis://localhost:6379/0", ""),
        ("redis://127.0.0.1/0", ""),
        ("redis://[::1]:6379", ""),
        ("rediss://:secret@queue.example:6379/0", ""),
        ("redis://:secret@queue.example:6379/0", "TLS"),
        ("rediss://queue.example:6379/0", "a password"),
        ("redis://10.0.0.7:6379/0", "TLS and a password"),
    ],
)
def test_a_queue_server_on_another_host_needs_tls_and_a_password(url: str, missing: str):
    assert valkey.missing_protection(url) == missing


def test_an_interrupt_counts_even_where_a_script_has_started_it_in_the_background(tmp_path: Path):
    usual = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # as a shell script does for `./run &`; children inherit it
    try:
        stack = Stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "exec sleep 600"))
    finally:
        signal.signal(signal.SIGINT, usual)
    stack.wait_for(lambda: "valkey" in stack.pids())
    assert stack.stop(signal.SIGINT) == 0
    assert not processes_of(stack)


# The last two end the stack of this file, each in its way.


def test_the_parts_die_with_a_killed_supervisor(supervised: Stack):
    assert set(supervised.pids().values()) < set(processes_of(supervised))
    supervised.stop(signal.SIGKILL)
    supervised.wait_for(lambda: not processes_of(supervised))


def test_it_starts_again_where_it_was_killed_and_sigterm_ends_all_within_ten_seconds_even_during_a_job(
    supervised: Stack, tmp_path: Path
):
    supervised.stop(signal.SIGKILL)
    again = Stack(
        supervised.var, DJANGO_SETTINGS_MODULE=supervised.environment["DJANGO_SETTINGS_MODULE"]
    ).wait_until_ready()
    started = tmp_path / "started"
    enqueue(again, "work_long", str(started))
    again.wait_for(started.exists)
    asked = time.monotonic()
    assert again.stop() == 0
    assert time.monotonic() - asked < 10
    assert not processes_of(again)
    assert "finished" not in started.read_text()
    assert not (again.var / "processes.json").exists()


def path_with_valkey(tmp_path: Path, script: str) -> str:
    """A PATH on which `valkey-server` is this shell script."""
    program = tmp_path / "bin" / "valkey-server"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@contextmanager
def running_server(var: Path, program: str) -> Iterator[None]:
    """A queue server on its own, stopped in the orderly way at the end."""
    var.mkdir(mode=0o700, exist_ok=True)
    server = subprocess.Popen(valkey.server_command(program, var), stdout=subprocess.DEVNULL)
    try:
        assert asyncio.run(valkey.wait_for_server(var, HANG, lambda: server.poll() is not None))
        yield
    finally:
        server.terminate()
        server.wait(HANG)


def queue_server(stack: Stack) -> Redis:
    return Redis(unix_socket_path=str(stack.var / "valkey.sock"))


def enqueue(stack: Stack, job: str, *arguments: str) -> None:
    """Put a job of tests.config.jobs on the stack's queue, as the project itself does."""
    queue = django_rq.get_queue("default", connection=queue_server(stack))
    queue.enqueue(f"tests.config.jobs.{job}", *arguments)
