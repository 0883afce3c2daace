"""The guard counts what a program does: idle time exceeds a limit, waiting for a CPU or for the judge does not."""

import contextlib
import fcntl
import os
import sys
import termios
import threading
import time
from collections.abc import Iterator
from io import FileIO

import pytest

import judge
from judge import Checker, Judgement, Limits, OutputValidator, Policy, Verdict
from judge.compilation import compile_program
from judge.execution import TimedRunner
from judge.sandbox import Container, SandboxRun, Termination, UndecidedRunError, discovery, open_sandbox
from tests.busy_processes import busy_processes
from tests.judge.conftest import MEBIBYTE, SMALL, Grade, MakeTest, grade_tests
from tests.judge.interactions import PROGRAM, SEPARATOR, VALIDATOR

pytestmark = pytest.mark.usefixtures("sandbox")

LIMITS = Limits(time=0.1, memory=128 * MEBIBYTE, output=8 * MEBIBYTE)


@pytest.fixture(params=["tier A", "tier B"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use this machine's best tier, then tier B."""
    monkeypatch.setattr(discovery, "_found", {})
    if request.param == "tier B":
        monkeypatch.setattr(discovery, "find_control_groups", lambda: None)
    return str(request.param)


@contextlib.contextmanager
def opened(source: str, language: str = "python") -> Iterator[tuple[Container, tuple[str, ...]]]:
    """Yield a container with the program, and the program's command."""
    program = compile_program(open_sandbox(), judge.get_language(language), source, LIMITS).program
    assert program is not None
    with open_sandbox().open(program.mounts) as container:
        yield container, program.command


IDLE = {
    "sleeps": ("python", "import time\nprint(14, flush=True)\ntime.sleep(1000)"),
    "waits for a signal": ("c", "#include <unistd.h>\nint main() { for (;;) pause(); }"),
    "waits for its own output": (
        "python",
        "import os\nreading, writing = os.pipe()\nos.read(reading, 1)",
    ),
    "is stopped by its child": (
        "c",
        """
#include <signal.h>
#include <unistd.h>
int main() {
    int channel[2];
    char byte;
    pipe(channel);
    if (fork() == 0) {
        kill(getppid(), SIGSTOP);
        write(channel[1], "", 1);
        sleep(1000);
    }
    read(channel[0], &byte, 1); // the parent is stopped before this call returns
    for (;;) continue;
}
""",
    ),
    "waits after vfork": (
        "c",
        "#include <unistd.h>\nint main() { if (vfork() == 0) { sleep(1000); _exit(0); } return 0; }",
    ),
    "sleeps in many threads": (
        "python",
        "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()",
    ),
    "sleeps in short intervals": ("python", "import time\nwhile True: time.sleep(0.05)"),
}


@pytest.mark.parametrize("name", IDLE)
def test_an_idle_program_exceeds_the_time_limit_at_its_limit_of_idle_time(tier: str, name: str) -> None:
    language, source = IDLE[name]
    with opened(source, language) as (container, command):
        outcome = container.run(SandboxRun(command, LIMITS))
    assert outcome.termination is Termination.IDLE, outcome
    assert LIMITS.idle < outcome.idle < LIMITS.idle + 0.5
    assert outcome.time < LIMITS.time


def test_the_message_on_an_idle_program_says_that_it_slept(grade: Grade) -> None:
    for fork_server in (False, True):
        source = "import time\ntime.sleep(9)\nprint(14)"
        # Starting Python must not use the limit up, also on a busy machine.
        limits = Limits(time=0.5, memory=LIMITS.memory)
        results = grade(source, limits=limits, times=2, fork_server=fork_server).tests
        assert [result.verdict for result in results] == [Verdict.TLE] * 2
        assert all(result.message.startswith("slept for ") for result in results), results


def test_waiting_for_a_cpu_is_not_idle_time(tier: str) -> None:
    """Beside busy processes the program gets a small share of a CPU, for longer than the limit of idle time."""
    limits = Limits(time=1, memory=LIMITS.memory)
    source = "#include <time.h>\nint main() { while (clock() < 0.4 * CLOCKS_PER_SEC) continue; return 0; }"
    cores = len(os.sched_getaffinity(0))
    with opened(source, "c") as (container, command), busy_processes(4 * cores):
        outcome = container.run(SandboxRun(command, limits, idle=0.3))
    assert (outcome.termination, outcome.exit_status) == (Termination.EXIT, 0), outcome
    assert outcome.time > 0.35
    assert outcome.idle < 0.3


def test_output_that_the_judge_does_not_read_is_not_idle_time(tier: str) -> None:
    source = f"import os\nfor _ in range(16): os.write(1, b'x' * {2**16})"
    reading, writing = os.pipe()
    read = bytearray()

    def read_late() -> None:
        while waiting_bytes(reading) < 2**16:
            time.sleep(0.01)
        time.sleep(1.0)
        while data := os.read(reading, 2**16):
            read.extend(data)

    with opened(source) as (container, command):
        reader = threading.Thread(target=read_late)
        reader.start()
        outcome = container.run(SandboxRun(command, LIMITS, idle=0.3, output=FileIO(writing, "wb")))
        reader.join()
    os.close(reading)
    assert (outcome.termination, len(read)) == (Termination.EXIT, 16 * 2**16), outcome
    assert outcome.wall >= 1.0


def waiting_bytes(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_run_without_a_decision_at_its_limit_of_real_time_is_tried_twice_more_and_then_a_judge_error(
    grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    with opened("import time\ntime.sleep(1000)") as (container, command):

        class Counting:
            def run(self, run: SandboxRun) -> judge.sandbox.RunOutcome:
                runs.append(run)
                return container.run(run)

        with pytest.raises(UndecidedRunError, match="machine is overloaded"):
            TimedRunner(Counting()).run(SandboxRun(command, LIMITS, wall=0.1))
    assert len(runs) == 3
    monkeypatch.setattr(Limits, "wall", 0.1)
    judgement = grade("import time\ntime.sleep(1000)", limits=LIMITS)
    assert judgement.verdict is Verdict.JE
    assert "machine is overloaded" in judgement.tests[0].message


ASK = "say(1); sys.exit(42 if input() == '2' else 43)"

# name: what the validator does, what the program does, the verdict, the beginning of the message
WAITS = {
    "the validator sleeps while the program waits": (f"time.sleep(2); {ASK}", "input(); say(2)", "AC", ""),
    "the validator computes while the program waits": (
        f"while time.process_time() < 1.5: pass\n{ASK}",
        "input(); say(2)",
        "AC",
        "",
    ),
    "the validator sleeps between two questions": (
        f"say(0); input(); time.sleep(2); {ASK}",
        "say(input()); input(); say(2)",
        "AC",
        "",
    ),
    "the validator sleeps too long": (
        "time.sleep(1000)",
        "input()",
        "JE",
        "ValidatorFaultError: the problem's output validator slept for more than 4 s",
    ),
    "the program sleeps while the validator waits": (ASK, "time.sleep(1000)", "TLE", "slept for"),
    "the program sleeps before it writes": (ASK, "input(); time.sleep(1000); say(2)", "TLE", "slept for"),
    "the program does not read": ("say('x' * 2**20)", "time.sleep(1000)", "TLE", "slept for"),
    "the program sleeps after the validator has accepted": (
        "sys.exit(42)",
        "time.sleep(1000)",
        "TLE",
        "slept for",
    ),
    "both wait": ("sys.exit(42 if input() else 43)", "input()", "TLE", "slept for"),
    "the validator reads late": (
        "time.sleep(2); sys.exit(42 if len(input()) == 2**20 else 43)",
        "say('x' * 2**20)",
        "AC",
        "",
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_in_an_interaction_each_side_has_its_own_idle_time(make_test: MakeTest, name: str) -> None:
    ours, theirs, verdict, message = WAITS[name]
    judgement = interaction(make_test(ours + SEPARATOR + theirs, ""))
    (result,) = judgement.tests
    assert (result.verdict, result.message[: len(message)]) == (verdict, message), result


def interaction(test: judge.Test) -> Judgement:
    validator = OutputValidator(
        "python",
        {"validate.py": VALIDATOR},
        interactive=True,
        limits=Limits(time=3, memory=128 * MEBIBYTE, output=MEBIBYTE),
        passes=1,
    )
    checker = Checker("validator", program=validator)
    limits = Limits(time=0.3, memory=128 * MEBIBYTE, output=4 * MEBIBYTE)
    return grade_tests(PROGRAM, "python", [test], limits, checker, policy=Policy.COMPAT)


@pytest.mark.parametrize(
    "file", ["/dev/random", "/dev/urandom", "/dev/zero", "/dev/stderr", "/proc/self/fd/2"]
)
def test_devices_and_pipes_are_no_includes(grade: Grade, file: str) -> None:
    judgement = grade(f'#include "{file}"\nint main() {{}}', "cpp")
    assert judgement.verdict is Verdict.CE
    assert (
        "No such file" in judgement.compiler_output or "it waited for more than" in judgement.compiler_output
    )


def test_a_compiler_ends_at_its_limit_of_cpu_time(make_test: MakeTest) -> None:
    source = (
        "template <int N> constexpr int f() { int s = 0; for (int i = 0; i < 10000000; i++) s += i % 7; "
        "return s + f<N - 1>(); }\ntemplate <> constexpr int f<0>() { return 0; }\n"
        "constexpr int x = f<500>();\nint main() { return x; }"
    )
    judgement = grade_tests(source, "cpp", [make_test("", "")], SMALL, Checker(), compile_time=0.5)
    assert judgement.verdict is Verdict.CE
    assert judgement.compiler_output.startswith("The compiler was stopped: it used more than 0.5 s of CPU.")
