"""Containers are copies of a template, which serves one after another; a lost template is replaced."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import judge
from judge.compilation import compile_program
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
        content = printed(container, source)
    wait_for_the_end(bubblewrap)
    return content


def wait_for_the_end(bubblewrap: Bubblewrap) -> None:
    """Wait until the containers have ended, so that the next one need not start another template."""
    with bubblewrap._changing_templates:
        assert all(one.has_ended(10) for one in bubblewrap._free)


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
        wait_for_the_end(bubblewrap)
    assert found == [(Termination.MEMORY, False), (Termination.EXIT, True)]
    assert len(free_templates(bubblewrap)) == 1


def test_two_templates_take_turns_so_that_no_container_waits_for_the_end_of_the_last_one(
    bubblewrap: Bubblewrap,
) -> None:
    for number in range(6):
        with bubblewrap.open(mounts_of()) as container:
            assert printed(container, f"print({number})") == str(number)
    assert len(free_templates(bubblewrap)) <= 2


def test_the_template_that_was_used_last_serves_again_when_its_container_has_ended(
    bubblewrap: Bubblewrap,
) -> None:
    with bubblewrap.open(mounts_of()) as one, bubblewrap.open(mounts_of()) as other:
        assert (printed(one, "print(1)"), printed(other, "print(2)")) == ("1", "2")
    wait_for_the_end(bubblewrap)
    templates = free_templates(bubblewrap)
    assert len(templates) == 2
    for number in range(3):
        assert output(bubblewrap, f"print({number})") == str(number)
        assert free_templates(bubblewrap) == templates, "the last one, which is still in the caches"


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


FORKED = judge.Limits(time=10, memory=256 * MEBIBYTE)


SEARCH = """
backwards = mark.encode()[::-1]  # not the mark itself, which this program would find in its own memory
found = []
for line in open("/proc/self/maps"):
    words = line.split()
    if "r" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
        continue
    begin, end = (int(one, 16) for one in words[0].split("-"))
    with open("/proc/self/mem", "rb", 0) as memory:
        memory.seek(begin)
        content = memory.read(end - begin) or b""
    found += [words[-1]] * content[::-1].count(backwards * 3)
"""
"""A part of a program: `found` gets the place of each three marks in a row in the program's memory."""


def interpreters(bubblewrap: Bubblewrap) -> list[int]:
    return [one._process.pid for one in bubblewrap._free if one.key.interpreter]


def forked(bubblewrap: Bubblewrap, source: str, *inputs: bytes) -> list[str]:
    """Return what a program prints on each input, as forks in a container of its own."""
    program = compile_program(bubblewrap, judge.get_language("python"), source, FORKED).program
    assert program is not None
    assert program.preload is not None
    printed = []
    with bubblewrap.open(program.mounts) as container:
        for given in inputs or (b"",):
            run = SandboxRun(program.command, FORKED, input=given, preload=program.preload, wall=30)
            outcome = run_with_retries(container, run)
            assert outcome.exit_status == 0, outcome
            printed.append(outcome.stdout.decode().strip())
    wait_for_the_end(bubblewrap)
    return printed


def test_interpreters_of_several_submissions_are_forks_of_one_that_has_started_once(
    bubblewrap: Bubblewrap,
) -> None:
    source = (
        "print(open('/proc/self/cmdline').read().split('\\0')[2], open('/proc/self/maps').readline()[:12])"
    )
    [first] = forked(bubblewrap, source)
    [template] = interpreters(bubblewrap)
    assert forked(bubblewrap, source) == [first]
    assert first.startswith("/fork_server.py ")
    assert interpreters(bubblewrap) == [template]


def test_no_submission_finds_anything_of_one_before_it_that_was_forked_from_the_same_interpreter(
    bubblewrap: Bubblewrap,
) -> None:
    halves = "no-trace-", "of-this-one"
    leaving = f"""
import os, random, signal, sys
mark = "{halves[0]}" + "{halves[1]}"
whole = "{"".join(halves)}"
kept = [mark * 100 for _ in range(1000)]
os.environ[mark] = mark
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.umask(0)
random.seed(mark)
for name in (mark, mark * 3):
    open(name, "w").write(mark)
if os.fork() == 0:
    signal.pause()
print("left")
"""
    searching = f"""
import os, random, signal, sys
mark = "".join(("{halves[0]}", "{halves[1]}"))
{SEARCH}print(found, mark in os.environ, signal.getsignal(signal.SIGUSR1).name)
print(os.listdir("/box"), os.umask(0), sorted(name for name in os.listdir("/proc") if name.isdigit())[0])
print(sum(name.isdigit() for name in os.listdir("/proc")), sorted(os.listdir("/proc/self/fd")))
print(random.random())
"""
    assert forked(bubblewrap, leaving) == ["left"]
    [template] = interpreters(bubblewrap)
    (one,), (two,) = forked(bubblewrap, searching), forked(bubblewrap, searching)
    assert interpreters(bubblewrap) == [template]
    *first, number = one.splitlines()
    *second, other = two.splitlines()
    umask = os.umask(0o022)
    os.umask(umask)
    # Process 1, the fork server and the program; descriptor 3 is the one that lists.
    assert first == second
    assert first == ["[] False SIG_DFL", f"[] {umask} 1", "3 ['0', '1', '2', '3']"]
    assert number != other, "random numbers are seeded in each submission"


def test_after_a_fork_server_was_lost_the_next_run_forks_again(bubblewrap: Bubblewrap) -> None:
    source = """
import os, signal
print(open("/proc/self/cmdline").read().split("\\0")[2], flush=True)
while (line := input()) != "end":
    if line == "kill": os.kill(-1, signal.SIGKILL); break
"""
    program = compile_program(bubblewrap, judge.get_language("python"), source, FORKED).program
    assert program is not None
    found = []
    with bubblewrap.open(program.mounts) as container:
        for given in (b"end", b"kill", b"end", b"go on\n" * 10**7, b"end"):
            limits = judge.Limits(time=0.2, memory=FORKED.memory)
            run = SandboxRun(program.command, limits, input=given, preload=program.preload, wall=30)
            outcome = run_with_retries(container, run)
            found.append((outcome.stdout, outcome.termination))
    forked = b"/fork_server.py\n"
    exits = Termination.EXIT
    assert found == [(forked, end) for end in (exits, exits, exits, Termination.CPU, exits)]
    assert len(interpreters(bubblewrap)) == 1, "one container"


def test_no_run_finds_anything_of_one_before_it_in_the_same_container(bubblewrap: Bubblewrap) -> None:
    source = (
        """
import os, signal
mark = "".join(("no-trace-", "of-the-last-run"))
if input() == "leave":
    open(mark * 3, "w").write(mark * 3)
    os.kill(-1, signal.SIGKILL)  # the fork server among them: the next one is a fork of process 1
"""
        + SEARCH
        + """
print(len(found), open("/proc/self/cmdline").read().split("\\0")[2])
"""
    )
    program = compile_program(bubblewrap, judge.get_language("python"), source, FORKED).program
    assert program is not None
    printed = []
    with bubblewrap.open(program.mounts) as container:
        for given in (b"leave", b"search"):
            run = SandboxRun(
                program.command, FORKED, input=given, collect=("*",), preload=program.preload, wall=30
            )
            outcome = run_with_retries(container, run)
            printed.append((outcome.stdout.decode().split(), len(outcome.files)))
    (left, files), (searched, none) = printed
    assert int(left[0]) > 0, "the search finds the mark where it is"
    assert (files, none) == (1, 0)
    assert searched == ["0", "/fork_server.py"]


def test_a_program_that_ends_its_fork_server_runs_only_once(bubblewrap: Bubblewrap) -> None:
    source = """
import os, signal
os.kill(os.getpid() - 1, signal.SIGKILL)  # the fork server, maybe before it knows of this fork
with open("runs", "a") as file: file.write("once ")
print(open("runs").read(), input())
"""
    program = compile_program(bubblewrap, judge.get_language("python"), source, FORKED).program
    assert program is not None
    run = SandboxRun(program.command, FORKED, input=b"and for all", preload=program.preload, wall=30)
    with bubblewrap.open(program.mounts) as container:
        found = [container.run(run).stdout for _ in range(200)]
    assert set(found) == {b"once  and for all\n"}


def test_a_stopped_fork_server_holds_nobody_up(bubblewrap: Bubblewrap) -> None:
    source = """
import os, signal
if input() == "stop":
    os.kill(os.getpid() - 1, signal.SIGSTOP)
print(open("/proc/self/cmdline").read().split("\\0")[2], os.getppid(), os.getpid())
"""
    stopped, next_one = forked(bubblewrap, source, b"stop", b"go on")
    assert [one.split()[0] for one in (stopped, next_one)] == ["/fork_server.py"] * 2
    assert int(next_one.split()[2]) == int(stopped.split()[2]) + 1, "a fork of the same fork server"


def test_a_container_that_is_killed_at_its_start_leaves_no_program(bubblewrap: Bubblewrap) -> None:
    head = "print(*[line for line in open('/proc/self/maps') if 'memfd' in line])\n"
    large = compile_program(bubblewrap, judge.get_language("python"), head + "#" * 900_000, FORKED).program
    assert large is not None
    run = SandboxRun(large.command, FORKED, preload=large.preload)
    for _ in range(20):
        with bubblewrap.started(large.mounts, run):
            pass
    assert forked(bubblewrap, head) == [""]
    assert len(interpreters(bubblewrap)) <= 2


def test_programs_that_import_modules_of_the_same_groups_are_forks_of_one_interpreter(
    bubblewrap: Bubblewrap,
) -> None:
    source = (
        "print(open('/proc/self/cmdline').read().split('\\0')[2], *[name in sys.modules for name in names])"
    )
    head = "names = 'heapq', 'decimal'\nimport sys"
    found = [
        forked(bubblewrap, f"{head}{more}\n{source}") for more in ("", ", heapq", ", bisect", ", fractions")
    ]
    assert [one.split()[1:] for [one] in found] == [
        ["False", "False"],
        ["True", "False"],
        ["True", "False"],
        ["False", "True"],
    ]
    assert all(one.startswith("/fork_server.py ") for [one] in found)
    assert len(interpreters(bubblewrap)) == 3


@pytest.mark.parametrize("fault", ["no library", "the interpreter cannot load it"])
def test_without_the_library_interpreters_start_for_each_run(
    bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    damaged = tmp_path / "library.so"
    damaged.write_bytes(b"no library")
    monkeypatch.setattr(bubblewrap, "_library", None if fault == "no library" else damaged)
    monkeypatch.setattr(bubblewrap, "_unusable", set())
    source = "print(open('/proc/self/cmdline').read().split('\\0')[2], input())"
    assert forked(bubblewrap, source, b"1", b"2") == ["/program/main.py 1", "/program/main.py 2"]


def test_few_templates_without_a_container_are_kept(
    bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.sandbox.bubblewrap._MOST_FREE", 2)
    for folder in ("/usr/lib", "/usr/lib/python3", "/usr/bin"):
        files = (*interpreter_files(judge.get_language("python").tool()), Path(folder))
        with bubblewrap.open(Mounts((), files, file_size=MEBIBYTE, scratch=MEBIBYTE)) as container:
            assert printed(container, "print(1)") == "1"
    assert len(free_templates(bubblewrap)) == 2
