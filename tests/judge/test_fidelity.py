"""Correct programs of any style are accepted, and faulty programs get the right verdict."""

import pytest

from judge import Limits, Verdict
from tests.judge.conftest import MEBIBYTE, SMALL, Grade, grade_in_all_ways, skip_without
from tests.judge.corpus import Program, programs


@pytest.mark.parametrize("program", programs("idioms.txt") + programs("faults.txt"), ids=str)
def test_programs_get_their_verdict_and_the_same_by_a_fork_as_by_a_fresh_start(
    grade: Grade, program: Program
) -> None:
    skip_without(program.language)
    judgements = grade_in_all_ways(grade, program)
    assert {judgement.verdict for judgement in judgements} == {program.verdict}, judgements
    results = [result for judgement in judgements for result in judgement.tests]
    if program.verdict is Verdict.RTE:
        assert len({(result.exit_status, result.signal) for result in results}) == 1, results


@pytest.mark.parametrize(
    ("verdict", "source"),
    [
        (Verdict.AC, "\ufeffinput()\nprint(sum(map(int, input().split())))"),
        (Verdict.AC, "input()\r\nprint(sum(map(int, input().split())))\r\n"),
        (Verdict.CE, "print(14)\n\0"),
        (Verdict.CE, "(" * 10**5),
        (Verdict.AC, f"f = {'lambda: ' * 1100}1\ninput()\nprint(sum(map(int, input().split())))"),
        (Verdict.CE, "s = '\ud800'\nprint(14)"),
        (Verdict.NO_CODE, ""),
        (Verdict.NO_CODE, " \n\t\n"),
    ],
    ids=[
        "byte order mark",
        "carriage returns",
        "null byte",
        "nesting",
        "code too deep for marshal",
        "lone surrogate",
        "empty",
        "blank",
    ],
)
def test_unusual_bytes_in_a_source(grade: Grade, verdict: Verdict, source: str) -> None:
    assert grade(source).verdict is verdict


def test_a_sleeping_program_exceeds_the_time_limit_and_the_message_says_that_it_was_not_busy(
    grade: Grade,
) -> None:
    limits = Limits(time=0.05, memory=SMALL.memory)
    judgement = grade("import time\ntime.sleep(1000)", limits=limits)
    assert judgement.verdict is Verdict.TLE
    assert "slept for" in judgement.tests[0].message


def test_waiting_within_the_idle_grace_is_not_counted_as_time(grade: Grade) -> None:
    judgement = grade("import time\ntime.sleep(0.3)\nprint(14)", limits=Limits(time=0.1, memory=SMALL.memory))
    assert judgement.verdict is Verdict.AC
    assert judgement.tests[0].time < 0.1
    assert judgement.tests[0].wall >= 0.3


def test_time_of_child_processes_is_counted(grade: Grade) -> None:
    source = """
import os
for _ in range(4):
    if os.fork() == 0:
        for _ in iter(int, 1):
            pass
for _ in range(4):
    os.wait()
"""
    judgement = grade(source)
    assert judgement.verdict is Verdict.TLE
    assert judgement.tests[0].time < 2 * SMALL.time


def test_memory_of_child_processes_is_added_up(grade: Grade) -> None:
    source = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = b"a" * (40 * 2**20)
        time.sleep(1)
        os._exit(0)
for _ in range(6):
    os.wait()
"""
    assert grade(source).verdict is Verdict.MLE


def test_peak_memory_is_measured_to_a_few_mebibytes(grade: Grade) -> None:
    source = """
#include <cstdio>
#include <cstring>
static char a[100 << 20];
int main() { memset(a, 1, sizeof a); printf("%d", a[9] * 14); }
"""
    judgement = grade(source, "cpp")
    assert judgement.verdict is Verdict.AC
    assert 100 * MEBIBYTE <= judgement.tests[0].memory <= 104 * MEBIBYTE


def test_a_large_parent_process_does_not_count_as_the_programs_memory(grade: Grade) -> None:
    ballast = b"x" * (300 * MEBIBYTE)
    judgement = grade("print(14)")
    assert judgement.verdict is Verdict.AC
    assert judgement.tests[0].memory < 20 * MEBIBYTE < len(ballast)


def test_abort_is_reported_as_the_signal_it_is(grade: Grade) -> None:
    result = grade("import os\nos.abort()").tests[0]
    assert (result.signal, result.exit_status) == (6, None)
    assert "SIGABRT" in result.message


def test_exit_status_and_last_words_of_an_exception_are_reported(grade: Grade) -> None:
    result = grade("1 / 0").tests[0]
    assert (result.exit_status, result.signal) == (1, None)
    assert "ZeroDivisionError" in result.message
    assert "line 1" in result.errors


def test_output_passes_whole_up_to_the_limit_and_exceeds_it_with_the_next_byte(grade: Grade) -> None:
    given = b"0123456789abcdef\n" * 2**17
    limits = Limits(time=2, memory=SMALL.memory, output=len(given))
    copy = "import sys\nsys.stdout.write(sys.stdin.read())"
    assert grade(copy, given=given, answer=given, limits=limits).verdict is Verdict.AC
    assert grade(copy + "\nprint()", given=given, answer=given, limits=limits).verdict is Verdict.OLE


def test_flooding_standard_error_does_not_block_a_program(grade: Grade) -> None:
    source = "import sys\nfor _ in range(300): sys.stderr.write('e' * 10**5)\nprint(14)"
    judgement = grade(source)
    assert judgement.verdict is Verdict.AC
    assert judgement.tests[0].errors == "e" * 2000


def test_runs_do_not_see_files_of_earlier_runs(grade: Grade) -> None:
    source = "import os\nassert not os.listdir('.')\nfor f in ('here', '/tmp/there'): open(f, 'w')\nprint(14)"
    assert [grade(source).verdict for _ in range(2)] == [Verdict.AC, Verdict.AC]


def test_the_same_program_prints_the_same_each_time(grade: Grade) -> None:
    outputs = {grade("print(list({'a', 'b', 'c', 'd', 'e', 'f'}))").tests[0].output for _ in range(3)}
    assert len(outputs) == 1
