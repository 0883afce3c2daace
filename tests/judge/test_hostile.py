"""Programs that try to cheat, to look around, to do harm or to stay: none succeeds and none hurts the judge."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import judge
from judge import Limits, Verdict
from tests.judge.conftest import MEBIBYTE, SMALL, Grade, MakeTest
from tests.judge.corpus import Program, programs

PRELUDE = """
import os
def attempt(what):
    try: print("GOT", what())
    except Exception as error: print("refused:", type(error).__name__)
"""
LAST_LINE = "end of the attack"
ANSWER = "8150734261"


def attack(grade: Grade, source: str) -> str:
    """What the attack printed, having made sure that it ran to its end and did not find the answer."""
    judgement = grade(f"{PRELUDE}{source}\nprint({LAST_LINE!r})", answer=ANSWER)
    result = judgement.tests[0]
    assert judgement.verdict is Verdict.WA, judgement
    assert result.exit_status == 0
    assert "GOT" not in result.output
    return result.output


@pytest.mark.parametrize("program", programs("attacks.txt"), ids=str)
def test_attacks_get_nothing(grade: Grade, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    monkeypatch.setenv("PROVIDER_KEY", "kept from programs")
    attack(grade, program.source)


def test_the_project_and_the_files_of_the_test_do_not_exist(
    grade: Grade, repository: Path, tmp_path: Path
) -> None:
    paths = [repository, Path(judge.__file__), tmp_path / "1.ans", tmp_path / "1.in", tmp_path]
    output = attack(grade, f"for path in {list(map(str, paths))!r}: attempt(lambda: os.stat(path))")
    assert output.count("refused: FileNotFoundError") == len(paths)


@pytest.mark.parametrize(
    "source",
    [
        """
for _ in range(5):
    if os.fork() == 0:
        time.sleep(1000)
""",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
""",
        """
if os.fork() == 0:
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(1000)
""",
        """
if os.fork() == 0:
    for descriptor in range(3):
        os.close(descriptor)
    os.kill(os.getpid(), signal.SIGSTOP)
""",
    ],
    ids=["children", "daemon", "ignores signals", "stopped"],
)
def test_children_left_behind_are_gone_and_do_not_delay_the_verdict(grade: Grade, source: str) -> None:
    mark = _new_mark()
    started = time.monotonic()
    judgement = grade(f"{_under_name(mark)}\nimport signal, time\n{source}\nprint(14)")
    assert judgement.verdict is Verdict.AC, judgement
    assert judgement.tests[0].wall < SMALL.time * 3
    assert time.monotonic() - started < 10
    assert _processes_with(mark) == []


@pytest.mark.parametrize(
    "source",
    [
        """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
        """
import os
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
""",
        """
import threading
while True:
    try: threading.Thread(target=threading.Event().wait).start()
    except RuntimeError: pass
""",
    ],
    ids=["fork", "fork and setsid", "threads"],
)
def test_process_bombs_end_within_the_limits(grade: Grade, source: str) -> None:
    judgement = grade(source, limits=Limits(time=0.3, memory=256 * MEBIBYTE))
    assert judgement.verdict in (Verdict.TLE, Verdict.MLE), judgement
    assert judgement.tests[0].wall < 3 * 0.3 + 2 + 1


def test_a_program_that_stops_itself_and_everything_around_ends_by_the_wall_guard(grade: Grade) -> None:
    source = """
import os, signal
for process in (os.getppid(), -1, os.getpid()):
    try: os.kill(process, signal.SIGSTOP)
    except OSError: pass
"""
    assert grade(source, limits=Limits(time=0.05, memory=SMALL.memory)).verdict is Verdict.TLE


@pytest.mark.parametrize(
    "source",
    [
        '#include "/etc/passwd"\nint main() {}',
        '#include "/dev/zero"\nint main() {}',
        "template <int N> struct A { A<N + 1> a; };\nA<0> a;\nint main() {}",
        "int a[1 << 28] = {1}, b[1 << 28] = {1};\nint main() {}",
        'asm(".incbin \\"/etc/shadow\\"");\nint main() {}',
        "\x7fELF\0\0\0\0",
    ],
    ids=["passwd", "zero", "template", "huge data", "incbin", "binary"],
)
def test_hostile_sources_do_not_compile_and_learn_nothing(grade: Grade, source: str) -> None:
    judgement = grade(source, "cpp")
    assert judgement.verdict is Verdict.CE, judgement
    assert judgement.tests == ()
    assert "root:" not in judgement.compiler_output
    assert "\0" not in judgement.compiler_output
    assert 0 < len(judgement.compiler_output) <= 4000


@pytest.mark.parametrize(
    "source",
    [
        '#include "main.cpp"\n#include "main.cpp"\nint main() {}',
        """
template <int N> constexpr int f() { int s = 0; for (int i = 0; i < 10000000; i++) s += i % 7; return s + f<N - 1>(); }
template <> constexpr int f<0>() { return 0; }
constexpr int x = f<500>();
int main() { return x; }
""",
        '#include "/dev/urandom"\nint main() {}',
    ],
    ids=["includes itself", "computes", "endless file"],
)
def test_a_compiler_that_would_take_for_ever_is_stopped(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr("judge.compiler.COMPILE_LIMITS", Limits(time=0.5, memory=1024 * MEBIBYTE))
    judgement = grade(source, "cpp")
    assert judgement.verdict is Verdict.CE
    assert "stopped" in judgement.compiler_output


def test_a_run_ends_when_the_judge_is_killed(
    sandbox: judge.SandboxStatus, make_test: MakeTest, repository: Path
) -> None:
    test = make_test("", "14")
    mark = _new_mark()
    program = f"{_under_name(mark)}\nimport time\ntime.sleep(1000)"
    script = f"""
import judge, pathlib
test = judge.Test("1", pathlib.Path({str(test.input)!r}), pathlib.Path({str(test.answer)!r}))
judge.grade({program!r}, "python", [test], judge.Limits(time=60, memory=2**27), judge.Checker())
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=repository)
    try:
        _wait_until(lambda: bool(_processes_with(mark)))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _wait_until(lambda: not _processes_with(mark))


def _new_mark() -> str:
    return f"mark-{os.getpid()}-{time.monotonic_ns()}"


def _under_name(mark: str) -> str:
    """Lines that start the program anew with a mark in its command line, by which the host can find it."""
    again = f"os.execv(sys.executable, ['python3', __file__, {mark!r}])"
    return f"import os, sys\nif len(sys.argv) == 1: {again}"


def _processes_with(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:  # it has ended meanwhile
            continue
        if mark.encode() in words:
            found.append(int(folder.name))
    return found


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 20 s"
        time.sleep(0.01)
