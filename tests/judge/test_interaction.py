"""Interactive problems: the first to end decides, and neither side can block the other or the judge."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from judge import Checker, Judgement, Limits, OutputValidator, Policy, Verdict, get_language
from judge.compilation import compile_program
from judge.sandbox import SandboxRun, Termination, open_sandbox
from tests.judge.conftest import MEBIBYTE, MakeTest, grade_tests
from tests.judge.interactions import PROGRAM, SEPARATOR, VALIDATOR

pytestmark = pytest.mark.usefixtures("sandbox")

LIMITS = Limits(time=0.3, memory=128 * MEBIBYTE, output=MEBIBYTE)
GUESSED = "while (guess := int(input())) != 7: say('more' if guess < 7 else 'less')\nsay('yes'); sys.exit(42)"
GUESSING = """
low, high = 1, 100
while True:
    say(middle := (low + high) // 2)
    match input():
        case "yes": break
        case "more": low = middle + 1
        case "less": high = middle - 1
"""
REJECT_AT_THE_END = "sys.exit(43 if sys.stdin.read() is not None else 1)"
ACCEPT_AT_THE_END = "sys.stdin.read(); sys.exit(42)"

# name: what the validator does, what the program does, the verdict
SCENARIOS = {
    "they agree": (GUESSED, GUESSING, "AC"),
    "many short messages": (
        "for i in range(2000): say(i); assert int(input()) == i + 1\nsys.exit(42)",
        "for _ in range(2000): say(int(input()) + 1)",
        "AC",
    ),
    "long messages": (
        "say('x' * 2**20); sys.exit(42 if len(input()) == 2**21 else 43)",
        "say(input() * 2)",
        "AC",
    ),
    "the program errs and is told so": ("sys.exit(42 if input() == '1' else 43)", "say(2); input()", "WA"),
    "the program errs and computes on": ("input(); sys.exit(43)", "say(2)\nwhile True: pass", "WA"),
    "the program errs and waits": ("input(); sys.exit(43)", "say(2); sys.stdin.read()", "WA"),
    "the program errs and writes on": ("input(); sys.exit(43)", "while True: say(2)", "WA"),
    "the program crashes": (REJECT_AT_THE_END, "say(1); 1 / 0", "RTE"),
    "the program crashes and an unprepared validator too": ("input()", "1 / 0", "RTE"),
    "the program is terminated": (REJECT_AT_THE_END, "os.kill(os.getpid(), signal.SIGTERM)", "RTE"),
    "the program computes without end": (REJECT_AT_THE_END, "while True: pass", "TLE"),
    "the program talks without end": (
        "for _ in sys.stdin: say('yes')",
        "while True: say('really?'); input(); sum(range(10_000))",  # more work than the validator's
        "TLE",
    ),
    "the program ends early": (REJECT_AT_THE_END, "", "WA"),
    "the program ends before it is told all": ("say('x' * 2**20); sys.exit(42)", "", "WA"),
    "the program ends while it is told more": ("while True: say('x')", "", "WA"),
    "the program closes its output": (REJECT_AT_THE_END, "os.close(1); sys.stdin.read()", "WA"),
    "the program closes its input": ("say('x' * 2**20); sys.exit(42)", "os.close(0); say(1)", "WA"),
    "the validator accepts at once": ("sys.exit(42)", "", "AC"),
    "the validator accepts and the program crashes": ("sys.exit(42)", "sys.stdin.read(); 1 / 0", "RTE"),
    "the validator accepts and the program computes on": ("sys.exit(42)", "while True: pass", "TLE"),
    "the program pretends a broken pipe and computes on": (
        "input(); sys.exit(42)",
        "say(1); print('BrokenPipeError', file=sys.stderr, flush=True)\nwhile True: pass",
        "TLE",
    ),
    "the validator accepts and the program writes on": (
        "input(); sys.exit(42)",
        "for i in range(10**5): say(i)",
        "AC",
    ),
    "the validator closes its output": (
        f"sys.stdout.flush(); os.close(1); {ACCEPT_AT_THE_END}",
        "say(sys.stdin.read())",
        "AC",
    ),
    "the validator closes its input": (
        "os.close(0); say('x'); time.sleep(0.1); sys.exit(42)",
        "input()",
        "AC",
    ),
    "the validator crashes": ("1 / 0", "input()", "JE"),
    "the validator is terminated": ("os.kill(os.getpid(), signal.SIGTERM)", "input()", "JE"),
    "the validator computes without end": ("while True: pass", "say(1)", "JE"),
    "the validator ends well": ("", "say(1)", "JE"),
}


@pytest.fixture
def judge_interaction(make_test: MakeTest) -> Callable[..., Judgement]:
    """Return a function that judges the usual program on a test for each scenario."""

    def judge_them(
        scenarios: dict[str, tuple[str, str, str]], *, limits: Limits = LIMITS, passes: int = 1
    ) -> Judgement:
        tests = [
            make_test(ours + SEPARATOR + theirs, "", name) for name, (ours, theirs, _) in scenarios.items()
        ]
        program = OutputValidator(
            "python", {"validate.py": VALIDATOR}, interactive=True, limits=limits, passes=passes
        )
        checker = Checker("validator", program=program)
        return grade_tests(
            PROGRAM, "python", tests, limits, checker, policy=Policy.COMPAT, stop_at_first_failure=False
        )

    return judge_them


def test_the_program_or_validator_that_ends_first_decides_without_a_deadlock(
    judge_interaction: Callable[..., Judgement],
) -> None:
    judgement = judge_interaction(SCENARIOS)
    found = {test.name: test.verdict.value for test in judgement.tests}
    messages = {
        test.name: test.message for test in judgement.tests if test.verdict != SCENARIOS[test.name][2]
    }
    assert found == {name: verdict for name, (_, _, verdict) in SCENARIOS.items()}, messages


def test_a_program_that_takes_memory_is_ended(judge_interaction: Callable[..., Judgement]) -> None:
    """The time limit leaves a busy machine the CPU time to fill the memory."""
    hoarder = {"the program takes memory": (REJECT_AT_THE_END, "x = bytearray(10**9)", "MLE")}
    (test,) = judge_interaction(hoarder, limits=replace(LIMITS, time=5.0)).tests
    assert test.verdict is Verdict.MLE, test.message


def test_two_that_wait_for_each_other_are_parted_by_the_clock(
    judge_interaction: Callable[..., Judgement],
) -> None:
    silent = {"both wait": (f"input(); {REJECT_AT_THE_END}", "input()", "TLE")}
    (test,) = judge_interaction(silent).tests
    assert (test.verdict, "slept for" in test.message) == (Verdict.TLE, True)
    assert test.time < LIMITS.time


def test_both_are_measured_and_the_message_is_the_validators(
    judge_interaction: Callable[..., Judgement],
) -> None:
    say_why = "open(sys.argv[3] + 'judgemessage.txt', 'w').write(f'got {input()}'); sys.exit(43)"
    burn = "while time.process_time() < 0.1: pass\nsay(5)"
    (test,) = judge_interaction({"1": (say_why, burn, "WA")}).tests
    assert (test.verdict, test.message) == (Verdict.WA, "got 5")
    assert 0.1 <= test.time < LIMITS.time
    assert test.memory > 2 * MEBIBYTE


def test_an_interactive_problem_may_have_several_passes(judge_interaction: Callable[..., Judgement]) -> None:
    """The first pass reads a word and stores it; the second compares it with the word of that pass."""
    second = "sys.exit(42 if input() == open(sys.argv[3] + 'word').read() else 43)" + SEPARATOR + "say('tea')"
    first = (
        "open(sys.argv[3] + 'word', 'w').write(input())\n"
        f"open(sys.argv[3] + 'nextpass.in', 'w').write({second!r})\nsys.exit(42)"
    )
    scenarios = {"knows": (first, "say('tea')", "AC"), "forgets": (first, "say('coffee')", "WA")}
    judgement = judge_interaction(scenarios, passes=2)
    assert {test.name: test.verdict.value for test in judgement.tests} == {"knows": "AC", "forgets": "WA"}


def test_a_run_after_one_that_was_stopped_needs_no_second_attempt() -> None:
    """A stopped run ends the fork server; the next run must not wait for the server's streams."""
    sandbox = open_sandbox()
    program = compile_program(sandbox, get_language("python"), "exec(open(0).read())", LIMITS).program
    assert program is not None
    with sandbox.open(program.mounts) as container:
        for source, ending in (
            (b"1", Termination.EXIT),
            (b"while True: pass", Termination.CPU),
            (b"2", Termination.EXIT),
        ):
            run = SandboxRun(program.command, LIMITS, input=source, preload=program.preload)
            assert container.run(run).termination is ending
