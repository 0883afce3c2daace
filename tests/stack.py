"""The whole of Hintbench as ./run starts it, for tests that need real processes: a `Stack`."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config import valkey
from tests.cached_fixtures import add_database
from tests.fake_providers import FakeProviders

REPOSITORY = Path(__file__).resolve().parent.parent

HANG = 120
"""Seconds after which whatever a test waits for will not come. Nothing is measured by it: it may be generous."""

# What a developer's shell may hold and a test must not depend on.
_FOREIGN = (
    "DATABASE_URL",
    "REDIS_URL",
    "HTTPS",
    "HOST",
    "ALLOWED_HOSTS",
    "DEBUG",
    "SECRET_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "COMPATIBLE_API_KEY",
    "COMPATIBLE_BASE_URL",
    "TUTORING_MODEL",
    "WORKERS",
)


class Stack:
    """A supervisor with its web server, streamer, worker and queue server, on a free port and its own folder.

    `var` is the folder (short: it holds a Unix socket), `url` the address without a final slash,
    `environment` what every process of it sees. Extra variables are given as keywords.
    """

    def __init__(self, var: Path, **variables: str) -> None:
        self.var = var
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HINTBENCH_VAR": str(var),
            "PORT": str(self.port),
            "PRACTICE_WORD_DELAY_MS": "0",
            **variables,
        }
        var.mkdir(mode=0o700, exist_ok=True)
        if "PATH" not in variables:
            self.environment["PATH"] = f"{_bundled_server(var)}:{self.environment['PATH']}"
        if (cache := os.environ.get("JUDGE_CACHE")) and not (var / "judge").exists():
            (var / "judge").symlink_to(cache)  # so that it has what others compiled
        self._lines: list[str] = []
        self.supervisor = subprocess.Popen(
            [sys.executable, "-m", "config.supervisor"],
            cwd=REPOSITORY,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """What the supervisor has printed so far."""
        return "".join(self._lines)

    def wait_until_ready(self) -> "Stack":
        """Returns when the supervisor has said so; fails with its output and logs when it does not."""
        self.wait_for(lambda: "Hintbench is ready" in self.output or self.supervisor.poll() is not None)
        if self.supervisor.poll() is not None:
            self._reader.join(HANG)
            pytest.fail(f"the stack has ended at its start:\n{self.output}\n{self.logs()}")
        return self

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Look at `condition()` until it is true; fails with the logs after HANG seconds."""
        end = time.monotonic() + HANG
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"waited {HANG} s in vain\n{self.output}\n{self.logs()}")
            time.sleep(0.02)

    def logs(self) -> str:
        """The ends of all logs, for the message of a failing test."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-3000:]}" for log in self.var.glob("logs/*.log"))

    def pids(self) -> dict[str, int]:
        """The process of every part that runs: web, streamer, worker-1 …, valkey."""
        try:
            parts: dict[str, int | None] = json.loads((self.var / "processes.json").read_text())["parts"]
        except FileNotFoundError:
            return {}
        return {name: pid for name, pid in parts.items() if pid is not None}

    def pid_of(self, part: str) -> int:
        """The process of a part, waiting for it while it is being started again."""
        self.wait_for(lambda: part in self.pids())
        return self.pids()[part]

    def kill(self, part: str) -> None:
        """End a part without warning (SIGKILL). Returns when it is gone, perhaps before it is started again."""
        pid = self.pid_of(part)
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: self.pids().get(part) != pid)

    def wait_until_healthy(self) -> None:
        """Returns when the database and the queue answer through the web server."""
        self.wait_for(lambda: self.get("/healthz")[0] == 200)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page; (0, reason) when nothing answers."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=HANG) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def manage(self, *words: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `manage.py WORDS…` in the stack's environment."""
        result = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=REPOSITORY,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
        )
        if check and result.returncode:
            pytest.fail(f"manage.py {' '.join(words)} has failed:\n{result.stdout}\n{result.stderr}")
        return result

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the supervisor with a signal and wait for it; its exit status."""
        if self.supervisor.poll() is None:
            self.supervisor.send_signal(number)
        try:
            return self.supervisor.wait(HANG)
        finally:
            if self.supervisor.poll() is None:
                self.supervisor.kill()
            self._reader.join(HANG)

    def _read(self) -> None:
        assert self.supervisor.stdout is not None
        for line in self.supervisor.stdout:
            self._lines.append(line)


def _bundled_server(var: Path) -> Path:
    """A folder for PATH with the queue server that most users get, even where the system has an older one."""
    program = valkey.bundled_program()
    folder = var / "bin"
    folder.mkdir(exist_ok=True)
    if program and not (folder / "valkey-server").exists():
        (folder / "valkey-server").symlink_to(program)
    return folder


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One running Hintbench for all tests that do not harm it."""
    running = Stack(add_database(tmp_path_factory.mktemp("stack")))
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def fake_provider_stack(
    tmp_path_factory: pytest.TempPathFactory, fake_provider_server: FakeProviders
) -> Iterator[Stack]:
    """A running Hintbench whose model is a fake provider, so that a test can hold a reply in mid-stream.

    Its protocol shows replies as they come. Its tests may kill its parts, and leave it healthy.
    """
    running = Stack(
        add_database(tmp_path_factory.mktemp("fake-provider-stack")),
        TUTORING_MODEL="openai:gpt-4o",
        OPENAI_API_KEY="sk-fake-000000",
        OPENAI_BASE_URL=fake_provider_server.openai_url,
    )
    try:
        running.wait_until_ready()
        as_they_come = ("--title=As they come", "--set=seconds_to_first_word=none")
        running.manage("freeze_protocol", "usaco-2024", *as_they_come)
        yield running
    finally:
        running.stop()
