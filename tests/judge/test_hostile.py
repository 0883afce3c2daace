"""Hostile programs: none cheats, reads the host, leaves traces or disturbs the judge."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import judge
from judge import Checker, Limits, Verdict
from judge.cache import remove_abandoned_folders
from judge.sandbox import Mounts, SandboxRun, open_sandbox
from judge.sandbox.system_files import interpreter_files
from tests.judge.conftest import (
    MEBIBYTE,
    SMALL,
    Grade,
    MakeTest,
    grade_in_all_ways,
    grade_tests,
    skip_without,
)
from tests.judge.corpus import Program, programs

LAST_LINE = "end of the attack"
ANSWER = "8150734261"

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.parametrize("program", programs("attacks.txt"), ids=str)
def test_attacks_get_nothing(grade: Grade, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    skip_without(program.language)
    monkeypatch.setenv("PROVIDER_KEY", "kept from programs")
    attack(grade, program)


def test_the_project_and_the_files_of_the_test_do_not_exist(
    grade: Grade, repository: Path, tmp_path: Path
) -> None:
    paths = [repository, Path(judge.__file__), tmp_path / "1.ans", tmp_path / "1.in", tmp_path]
    source = f"""
import os
for path in {list(map(str, paths))!r}:
    try: print("GOT", os.stat(path))
    except FileNotFoundError: print("refused")
"""
    for output in attack(grade, Program("looks for files", "python", (Verdict.WA,), source)):
        assert output.count("refused") == len(paths)


def attack(grade: Grade, program: Program) -> list[str]:
    """Assert that the attack ran to its end without finding the answer, and return its output."""
    last = f"\nprint({LAST_LINE!r})\n" if program.language == "python" else ""
    program = replace(program, source=program.source + last)
    outputs = []
    for judgement in grade_in_all_ways(grade, program, answer=ANSWER):
        assert judgement.verdict is Verdict.WA, judgement
        (result,) = judgement.tests
        assert result.exit_status == 0
        assert "GOT" not in result.output
        assert len(result.output) >= 2000 or LAST_LINE in result.output
        outputs.append(result.output)
    return outputs


@pytest.mark.parametrize("program", programs("traces.txt"), ids=str)
def test_no_test_of_a_submission_finds_anything_of_those_before_it(grade: Grade, program: Program) -> None:
    skip_without(program.language)
    started = time.monotonic()
    for judgement in grade_in_all_ways(grade, program, times=3):
        assert [result.verdict for result in judgement.tests] == [Verdict.AC] * 3, judgement
        peaks = [result.memory for result in judgement.tests]
        assert max(peaks) - min(peaks) < 40 * MEBIBYTE, peaks
    assert time.monotonic() - started < 10, "the judge waited for something"


@pytest.mark.parametrize("program", programs("bombs.txt"), ids=str)
def test_what_uses_up_everything_ends_within_the_limits(grade: Grade, program: Program) -> None:
    skip_without(program.language)
    judgement = grade(program.source, program.language, limits=BOMBS)
    assert judgement.verdict in program.verdicts, judgement
    assert judgement.tests[0].wall < BOMBS.wall


BOMBS = Limits(time=0.2, memory=48 * MEBIBYTE, output=MEBIBYTE)


@pytest.mark.parametrize("program", programs("sources.txt"), ids=str)
def test_hostile_sources_learn_nothing_and_do_not_hold_the_judge_up(
    grade: Grade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: Program
) -> None:
    skip_without(program.language)
    # Compilers that never end would otherwise use up their whole CPU time.
    limit = 10.0 if program.language == "java" else 0.7
    monkeypatch.setattr(
        "judge.compilation.compiling.COMPILE_LIMITS", Limits(60, 1024 * MEBIBYTE, 256 * MEBIBYTE)
    )
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))
    judgement = grade(program.source, program.language, compile_time=limit)
    assert judgement.verdict is program.verdict, judgement
    assert "root:" not in judgement.compiler_output
    assert "\0" not in judgement.compiler_output
    assert len(judgement.compiler_output) <= 4000
    if judgement.verdict is Verdict.CE:
        assert judgement.compiler_output
        assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize("fork_server", [True, False], ids=["fork", "fresh start"])
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_whatever_a_program_does_on_one_test_the_next_is_judged_as_if_it_were_the_first(
    sandbox: judge.SandboxStatus, make_test: MakeTest, language: str, fork_server: bool
) -> None:
    source, misdeeds = MISDEEDS[language]
    if language == "cpp" and fork_server:
        pytest.skip("C++ has no fork server")
    inputs = [what for misdeed in misdeeds for what in (misdeed, "behave")]
    tests = [make_test(what, "14", str(number)) for number, what in enumerate(inputs)]
    limits = Limits(time=0.2, memory=64 * MEBIBYTE, output=MEBIBYTE)
    started = time.monotonic()
    judgement = grade_tests(
        source,
        language,
        tests,
        limits,
        Checker(),
        policy=judge.Policy.COMPAT,
        stop_at_first_failure=False,
        fork_server=fork_server,
    )
    verdicts = dict(zip(inputs[::2], (result.verdict.value for result in judgement.tests[::2]), strict=True))
    assert verdicts == misdeeds
    assert {result.verdict for result in judgement.tests[1::2]} == {Verdict.AC}
    assert max(result.memory for result in judgement.tests[1::2]) < 32 * MEBIBYTE
    assert time.monotonic() - started < 30


MISDEEDS = {
    "python": (
        """
import os, signal, sys
what = input()
print(14, flush=True)
if what == "loop":
    while True: pass
if what == "busy children":
    for _ in range(10):
        if os.fork() == 0:
            while True: pass
    while True: pass
if what == "memory": x = bytearray(b"x") * 10**9
if what == "output": print("x" * 2**21)
if what == "exception": 1 // 0
if what == "status": os._exit(3)
if what == "kill": os.kill(os.getpid(), 9)
if what == "kill group": os.killpg(0, 9)
for name, number in (("kill others", signal.SIGKILL), ("stop others", signal.SIGSTOP)):
    try:
        if what == name: os.kill(-1, number)
    except ProcessLookupError: pass  # there are none
if what == "abort": os.abort()
if what == "fill":
    for number in range(70): open(str(number), "wb", 0).write(b"x" * 2**20)
if what == "no modules": sys.modules.clear()
if what == "daemon" and os.fork() == 0:
    os.setsid()
    signal.pause()
""",
        {
            "loop": "TLE",
            "busy children": "TLE",
            "memory": "MLE",
            "output": "OLE",
            "exception": "RTE",
            "status": "RTE",
            "kill": "RTE",
            "kill group": "RTE",
            "kill others": "AC",
            "stop others": "AC",
            "abort": "RTE",
            "fill": "MLE",
            "no modules": "AC",
            "daemon": "AC",
        },
    ),
    "cpp": (
        """
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
int main() {
    char text[99];
    std::string what = fgets(text, sizeof text, stdin);
    puts("14");
    fflush(stdout);
    if (what == "loop") for (volatile int i = 0;; i++) continue;
    if (what == "memory") for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    if (what == "output") for (;;) puts("14");
    if (what == "status") return 42;
    if (what == "crash") raise(SIGSEGV);
    if (what == "kill others") kill(-1, SIGKILL);
    if (what == "stop others") kill(-1, SIGSTOP);
    if (what == "bomb") for (;;) fork();
    if (what == "daemon" && fork() == 0) { setsid(); for (;;) pause(); }
}
""",
        {
            "loop": "TLE",
            "memory": "MLE",
            "output": "OLE",
            "status": "RTE",
            "crash": "RTE",
            "kill others": "AC",
            "stop others": "AC",
            "bomb": "TLE",
            "daemon": "AC",
        },
    ),
}


@pytest.mark.parametrize("collect", ["out", "*"])
def test_of_what_lies_in_the_place_of_an_output_file_only_real_files_are_read(
    sandbox: judge.SandboxStatus, collect: str
) -> None:
    tool = judge.get_language("python").tool()
    mounts = Mounts((), interpreter_files(tool), file_size=2**42, scratch=64 * MEBIBYTE)
    limits = Limits(time=5, memory=128 * MEBIBYTE, output=MEBIBYTE)
    with open_sandbox().open(mounts) as container:
        for made, expected in OUTPUT_FILES.items():
            program = f"import os\ndef make(name, text=b'x'): open(name, 'wb').write(text)\n{made}"
            started = time.monotonic()
            run = SandboxRun((str(tool), "-c", program), limits, wall=20, collect=(collect,))
            outcome = container.run(run)
            assert outcome.exit_status == 0, (made, outcome)
            content = outcome.files.get("out", b"")
            assert content[:100] == expected, made
            assert len(content) <= limits.output + 1
            assert sum(map(len, outcome.files.values())) <= limits.output + 1, made
            assert time.monotonic() - started < 10, made


OUTPUT_FILES = {
    "make('out', b'14')": b"14",
    "pass": b"",
    "make('other', b'14'); os.symlink('other', 'out')": b"",
    "os.symlink('/etc/ld.so.cache', 'out')": b"",
    "os.symlink('/proc/1/environ', 'out')": b"",
    "os.symlink('out', 'out')": b"",
    "os.symlink('/dev/urandom', 'out')": b"",
    "os.mkfifo('out')": b"",
    "os.mkdir('out'); make('out/out')": b"",
    "os.truncate(os.open('out', os.O_CREAT | os.O_RDWR), 2**40)": b"\0" * 100,
    "make('out', b'x' * 2**25)": b"x" * 100,
    "make('out'); os.chmod('out', 0)": b"",
    "[make(str(number)) for number in range(5000)]; make('out', b'14')": b"14",
    "[make('x' * 200 + str(number)) for number in range(1000)]": b"",
    "make('..', b'14') if False else make('\\n\\0out'.replace('\\0', ' '), b'14')": b"",
    "make(b'\\xff\\xfe', b'14'); make('out', b'14')": b"14",
}


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


def test_a_program_that_stops_itself_and_everything_around_is_idle(grade: Grade) -> None:
    source = """
import os, signal
for process in (os.getppid(), -1, os.getpid()):
    try: os.kill(process, signal.SIGSTOP)
    except OSError: pass
"""
    assert grade(source, limits=Limits(time=0.05, memory=SMALL.memory)).verdict is Verdict.TLE


def test_a_run_ends_when_the_judge_is_killed(
    sandbox: judge.SandboxStatus, make_test: MakeTest, repository: Path
) -> None:
    test = make_test("", "14")
    mark = _new_mark()
    program = f"{_under_name(mark)}\nimport time\ntime.sleep(1000)"
    script = f"""
import judge, pathlib
test = judge.Test("1", pathlib.Path({str(test.input)!r}), pathlib.Path({str(test.answer)!r}))
problem = judge.Problem([test], judge.Limits(time=60, memory=2**27), judge.Checker())
judge.grade(judge.Submission({program!r}, "python"), problem)
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=repository)
    try:
        _wait_until(lambda: bool(_processes_with(mark)))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _wait_until(lambda: not _processes_with(mark))
    remove_abandoned_folders()


def _new_mark() -> str:
    return f"mark-{os.getpid()}-{time.monotonic_ns()}"


def _under_name(mark: str) -> str:
    """Return lines that start the program again with a mark in its command line, by which the test finds it."""
    again = f"os.execv(sys.executable, ['python3', __file__, {mark!r}])"
    return f"import os, sys\nif len(sys.argv) == 1: {again}"


def _processes_with(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:  # the process has ended
            continue
        if mark.encode() in words:
            found.append(int(folder.name))
    return found


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 20 s"
        time.sleep(0.01)
