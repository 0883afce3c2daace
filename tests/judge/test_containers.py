"""Containers are copies of a template, which serves one after another; a lost template is replaced."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import judge
from judge.sandbox import Container, Mounts, SandboxRun, Termination, interpreter_files, run_with_retries
from judge.sandbox.bubblewrap import Bubblewrap
from judge.sandbox.discovery import open_sandbox
from tests.judge.conftest import MEBIBYTE

LIMITS = judge.Limits(time=10, memory=256 * MEBIBYTE)


@pytest.fixture
def bubblewrap(sandbox: judge.SandboxStatus) -> Iterator[Bubblewrap]:
    """The sandbox of this machine without templates."""
    found = open_sandbox()
    assert isinstance(found, Bubblewrap)
    found.close()
    yield found
    found.close()


def output(bubblewrap: Bubblewrap, source: str) -> str:
    """Return what a Python program prints in a container of its own."""
    with bubblewrap.open(mounts_of()) as container:
        return printed(container, source)


def mounts_of(*files: tuple[str, bytes]) -> Mounts:
    readable = interpreter_files(judge.get_language("python").tool())
    return Mounts(files, readable, file_size=MEBIBYTE, scratch=MEBIBYTE)


def printed(container: Container, source: str) -> str:
    command = (str(judge.get_language("python").tool()), "-I", "-c", source)
    outcome = run_with_retries(container, SandboxRun(command, LIMITS, wall=30))
    assert outcome.exit_status == 0, outcome
    return outcome.stdout.decode().strip()


def free_templates(bubblewrap: Bubblewrap) -> list[int]:
    return [one._process.pid for one in bubblewrap._free]


def test_containers_in_turn_share_a_template_and_its_control_group(bubblewrap: Bubblewrap) -> None:
    source = "open('note', 'x').close(); print(open('/proc/self/cgroup').read(), bytearray(10**7)[:0])"
    first = output(bubblewrap, source)
    [template] = free_templates(bubblewrap)
    assert output(bubblewrap, source) == first, "the scratch folder is new, the group is not"
    assert free_templates(bubblewrap) == [template]


def test_a_program_out_of_memory_does_not_count_in_the_next_container(bubblewrap: Bubblewrap) -> None:
    python = str(judge.get_language("python").tool())
    limits = judge.Limits(time=10, memory=64 * MEBIBYTE)
    found = []
    for size in (2**28, 2**20):
        with bubblewrap.open(mounts_of()) as container:
            command = (python, "-I", "-c", f"print(len(b'x' * {size}))")
            outcome = run_with_retries(container, SandboxRun(command, limits, wall=30))
            found.append((outcome.termination, outcome.memory < 32 * MEBIBYTE))
    assert found == [(Termination.MEMORY, False), (Termination.EXIT, True)]
    assert len(free_templates(bubblewrap)) == 1


def test_containers_at_the_same_time_share_nothing(bubblewrap: Bubblewrap) -> None:
    first, second = (mounts_of((f"of-{name}", b"")) for name in ("first", "second"))
    source = (
        "import os\n"
        "open('note', 'w').close()\n"
        "spaces = [os.readlink(f'/proc/self/ns/{name}') for name in ('mnt', 'pid', 'net', 'ipc', 'uts')]\n"
        "processes = [name for name in os.listdir('/proc') if name.isdigit()]\n"
        "print(os.listdir('/program'), os.listdir('/box'), len(processes), *spaces)"
    )
    with bubblewrap.open(first) as left, bubblewrap.open(second) as right:
        one, two = (printed(container, source) for container in (left, right))
    assert one.startswith("['of-first'] ['note'] 2 ")
    assert two.startswith("['of-second'] ['note'] 2 ")
    assert not set(one.split()[3:]) & set(two.split()[3:]), "each container has namespaces of its own"
    assert len(free_templates(bubblewrap)) == 2


def test_a_template_that_was_killed_is_replaced(bubblewrap: Bubblewrap) -> None:
    assert output(bubblewrap, "print(1)") == "1"
    [lost] = free_templates(bubblewrap)
    children = Path(f"/proc/{lost}/task/{lost}/children").read_text().split()
    for process in (lost, *map(int, children)):
        os.kill(process, signal.SIGKILL)
    assert output(bubblewrap, "print(2)") == "2"
    assert lost not in free_templates(bubblewrap)


def test_a_container_has_the_niceness_of_its_thread(bubblewrap: Bubblewrap) -> None:
    source = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
    found: list[str] = []

    def nice() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        found.append(output(bubblewrap, source))

    thread = threading.Thread(target=nice)
    thread.start()
    thread.join()
    found.append(output(bubblewrap, source))
    assert found == ["10", "0"]


def test_containers_of_many_threads_start_at_once(bubblewrap: Bubblewrap) -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(output(bubblewrap, "print(3)"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["3"] * 8
    assert 1 <= len(free_templates(bubblewrap)) <= 8
