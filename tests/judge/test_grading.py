"""Judgements of submissions: order, counts, policies, judge errors, JSON."""

import contextlib
import json
import os
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import judge
from judge import Checker, FileNames, Judgement, Limits, Policy, TestResult, Verdict, limits_for
from judge.execution import TimedRunner
from judge.sandbox import (
    Container,
    Mounts,
    RunOutcome,
    SandboxFaultError,
    SandboxRun,
    Termination,
    open_sandbox,
)
from tests.judge.conftest import SMALL, MakeTest, grade_tests

pytestmark = pytest.mark.usefixtures("sandbox")

ECHO_UNLESS_BAD = """
word = input()
if word == "crash": raise ValueError
print("wrong" if word == "bad" else word)
"""


@pytest.fixture
def tests(make_test: MakeTest) -> list[judge.Test]:
    words = ["one", "crash", "bad", "two"]
    return [make_test(word, word, name=f"{i}-{word}", sample=i == 0) for i, word in enumerate(words)]


def test_the_verdict_is_that_of_the_first_test_that_failed_and_nothing_runs_after_it(
    tests: list[judge.Test],
) -> None:
    told: list[TestResult] = []
    judgement = grade_tests(ECHO_UNLESS_BAD, "python", tests, SMALL, Checker(), on_test=told.append)
    assert judgement.verdict is Verdict.RTE
    assert (judgement.passed, judgement.total, len(judgement.tests)) == (1, 4, 2)
    assert told == list(judgement.tests)
    assert [result.name for result in told] == ["0-one", "1-crash"]
    assert [result.sample for result in told] == [True, False]


def test_all_tests_run_on_demand_and_the_first_failure_in_their_order_still_decides(
    tests: list[judge.Test],
) -> None:
    reordered = [tests[2], tests[0], tests[1], tests[3]]
    judgement = grade_tests(
        ECHO_UNLESS_BAD, "python", reordered, SMALL, Checker(), stop_at_first_failure=False
    )
    assert [result.verdict for result in judgement.tests] == [Verdict.WA, Verdict.AC, Verdict.RTE, Verdict.AC]
    assert judgement.verdict is Verdict.WA
    assert (judgement.passed, judgement.total) == (2, 4)


def test_a_program_under_the_main_guard_runs_and_the_first_characters_of_its_output_are_kept(
    make_test: MakeTest,
) -> None:
    source = "def main():\n    print('y' * 3000)\n\nif __name__ == '__main__':\n    main()\n"
    tests = [make_test("", "y" * 3000, name=str(number)) for number in range(4)]  # enough for the fork server
    tests[1] = replace(tests[1], shown=10**6)
    judgement = grade_tests(source, "python", tests, SMALL, Checker())
    assert judgement.verdict is Verdict.AC
    assert [len(result.output.strip()) for result in judgement.tests] == [2000, 3000, 2000, 2000]


def test_the_checker_given_decides(make_test: MakeTest) -> None:
    tests = [make_test("", "1.0  2.0\n")]
    verdicts = {
        checker: grade_tests("print('1 2')", "python", tests, SMALL, checker).verdict
        for checker in (Checker("exact"), Checker(), Checker(float_absolute=0.1))
    }
    assert list(verdicts.values()) == [Verdict.WA, Verdict.WA, Verdict.AC]


def test_the_fair_policy_gives_python_twice_the_time_and_compat_gives_all_the_same(
    make_test: MakeTest,
) -> None:
    limits = Limits(time=0.2, memory=SMALL.memory)
    source = "import time\nwhile time.process_time() < 0.28: pass\nprint(1)"
    tests = [make_test("", "1")]
    fair, compat = (
        grade_tests(source, "python", tests, limits, Checker(), policy=policy)
        for policy in (Policy.FAIR, Policy.COMPAT)
    )
    assert (fair.verdict, fair.policy) == (Verdict.AC, Policy.FAIR)
    assert (compat.verdict, compat.policy) == (Verdict.TLE, Policy.COMPAT)
    assert (fair.limits.time, compat.limits.time) == (0.4, 0.2)
    longer = grade_tests(source, "python", tests, limits, Checker(), time_multipliers={"python": 3})
    assert longer.verdict is Verdict.AC
    assert longer.limits.time == pytest.approx(0.6)
    assert limits_for(limits, "cpp", Policy.FAIR) == limits
    assert limits_for(limits, "python", Policy.FAIR) == replace(limits, time=0.4)


@pytest.mark.parametrize("source", ["print(1)", "print(2)", "import", ""])
def test_judgements_survive_their_json_form(make_test: MakeTest, source: str) -> None:
    judgement = grade_tests(source, "python", [make_test("", "1")], SMALL, Checker())
    document = json.loads(json.dumps(judgement.to_json()))
    assert Judgement.from_json(document) == judgement
    assert (document["passed"], document["total"]) == (judgement.passed, judgement.total)


def test_a_judgement_records_what_it_was_made_with(make_test: MakeTest) -> None:
    judgement = grade_tests("print(1)", "python", [make_test("", "1")], SMALL, Checker())
    assert judgement.judge_version == judge.JUDGE_VERSION
    assert judgement.isolation.startswith("tier ")
    assert judgement.compiler.startswith("Python 3.")


def test_what_a_program_prints_is_kept_in_part_and_without_null_bytes(make_test: MakeTest) -> None:
    source = "import sys\nprint('a\\0' * 5000)\nprint('é' * 5000, file=sys.stderr)\nsys.stdout.buffer.write(b'\\xff')"
    result = grade_tests(source, "python", [make_test("", "1")], SMALL, Checker()).tests[0]
    assert result.output == "a\ufffd" * 1000
    assert result.errors == "é" * 2000


def test_no_tests_and_unknown_languages_are_refused(make_test: MakeTest) -> None:
    with pytest.raises(ValueError, match="without tests"):
        grade_tests("print(1)", "python", [], SMALL, Checker())
    with pytest.raises(judge.UnknownLanguageError, match=r"cpp.*python"):
        grade_tests("print(1)", "cobol", [make_test("", "")], SMALL, Checker())


@pytest.mark.parametrize(
    "values", [(0, 1, 1), (-1, 1, 1), (1, 0, 1), (1, 1, 0), (float("nan"), 1, 1), (float("inf"), 1, 1)]
)
def test_limits_that_are_no_limits_are_refused(values: tuple[float, int, int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Limits(*values)


@pytest.mark.parametrize("missing", ["input", "answer"])
def test_an_unreadable_test_is_a_judge_error_that_names_it(make_test: MakeTest, missing: str) -> None:
    nowhere, test = Path("/nowhere/at/all"), make_test("", "1")
    test = replace(test, input=nowhere) if missing == "input" else replace(test, answer=nowhere)
    judgement = grade_tests("print(1)", "python", [test], SMALL, Checker())
    assert judgement.verdict is Verdict.JE
    assert "/nowhere/at/all" in judgement.tests[0].message


def test_a_missing_compiler_is_a_judge_error_with_the_remedy(
    make_test: MakeTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = replace(judge.get_language("cpp"), find_tool=lambda: None)
    monkeypatch.setitem(judge.LANGUAGES, "cpp", without)
    judge.compiler_version.cache_clear()
    judgement = grade_tests("int main() {}", "cpp", [make_test("", "")], SMALL, Checker())
    assert judgement.verdict is Verdict.JE
    assert "apt install g++" in judgement.tests[0].message


class Flaky:
    """The real sandbox, whose first `failures` runs fail."""

    isolation = "flaky"

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.runs = 0

    @contextlib.contextmanager
    def open(self, mounts: Mounts) -> Iterator[Container]:
        with open_sandbox().open(mounts) as container:
            yield FlakyContainer(self, container)


class FlakyContainer:
    def __init__(self, sandbox: Flaky, container: Container) -> None:
        self.sandbox, self.container = sandbox, container

    def run(self, run: SandboxRun) -> RunOutcome:
        self.sandbox.runs += 1
        if self.sandbox.runs <= self.sandbox.failures:
            raise SandboxFaultError("out of order")
        return self.container.run(run)


@pytest.mark.parametrize(("failures", "verdict", "runs"), [(2, Verdict.AC, 4), (100, Verdict.JE, 3)])
def test_faults_of_the_sandbox_are_retried_and_then_a_judge_error(
    make_test: MakeTest, monkeypatch: pytest.MonkeyPatch, failures: int, verdict: Verdict, runs: int
) -> None:
    flaky = Flaky(failures)
    monkeypatch.setattr("judge.grading.grading.open_sandbox", lambda: flaky)
    never_seen = f"print(1)  # {uuid.uuid4()}"  # not in the compile cache
    judgement = grade_tests(never_seen, "python", [make_test("", "1")], SMALL, Checker())
    assert (judgement.verdict, flaky.runs) == (verdict, runs)
    if verdict is Verdict.JE:
        assert "out of order" in judgement.tests[0].message


class Scripted:
    """A container whose runs have prepared outcomes."""

    def __init__(self, *outcomes: RunOutcome) -> None:
        self.outcomes = list(outcomes)
        self.limits: list[float] = []

    def run(self, run: SandboxRun) -> RunOutcome:
        self.limits.append(run.limits.time)
        return self.outcomes.pop(0)


def ended(time: float, *, termination: Termination = Termination.EXIT, memory: int = 1) -> RunOutcome:
    status = 0 if termination is Termination.EXIT else None
    return RunOutcome(termination, status, None, time, 0.0, time, memory, b"", b"", {}, 0.0)


@pytest.mark.parametrize(
    ("first", "repetitions", "time"),
    [
        (ended(0.9), [], 0.9),
        (ended(1.0, termination=Termination.CPU), [ended(0.98)], 0.98),
        (ended(1.0, termination=Termination.CPU), [ended(1.1, termination=Termination.CPU)], 1.0),
        (ended(1.0, termination=Termination.CPU), [ended(1.05), ended(1.04)], 1.04),
        (ended(1.0, termination=Termination.CPU), [ended(1.05), ended(0.99)], 0.99),
        (ended(1.0, termination=Termination.CPU), [ended(0.9, termination=Termination.MEMORY)], 0.9),
        (ended(0.1, termination=Termination.IDLE), [], 0.1),
        (ended(0.5, memory=105), [ended(0.6, memory=99)], 0.6),
        (ended(0.5, memory=111), [], 0.5),
    ],
    ids=[
        "well",
        "was slowed down",
        "far too slow",
        "a little too slow",
        "near",
        "slowed down before it used its memory",
        "idle",
        "memory",
        "much memory",
    ],
)
def test_runs_near_a_limit_are_measured_again(
    first: RunOutcome, repetitions: list[RunOutcome], time: float
) -> None:
    container = Scripted(first, *repetitions)
    outcome = TimedRunner(container).run(SandboxRun(("program",), Limits(time=1, memory=100), wall=5))
    assert outcome.time == time
    assert container.outcomes == []


def test_a_submission_shown_to_be_too_slow_is_believed_from_then_on() -> None:
    slow = ended(1.0, termination=Termination.CPU)
    container = Scripted(slow, ended(1.1, termination=Termination.CPU), slow)
    runner = TimedRunner(container)
    for _ in range(2):
        runner.run(SandboxRun(("program",), Limits(time=1, memory=100), wall=5))
    assert container.limits == pytest.approx([1, 1.1, 1])


COPY_FILE = {
    "python": "open('sum.out', 'w').write(str(sum(map(int, open('sum.in').read().split()))))",
    "cpp": """
#include <cstdio>
int main() {
    freopen("sum.in", "r", stdin);
    freopen("sum.out", "w", stdout);
    int a, b;
    scanf("%d%d", &a, &b);
    printf("%d", a + b);
}
""",
}


@pytest.mark.parametrize("language", COPY_FILE)
def test_programs_may_read_and_write_the_files_of_the_problem(make_test: MakeTest, language: str) -> None:
    tests = [make_test(f"{number} 4", str(number + 4), name=str(number)) for number in range(4)]
    files = FileNames("sum.in", "sum.out")
    judgement = grade_tests(COPY_FILE[language], language, tests, SMALL, Checker(), files=files)
    assert judgement.verdict is Verdict.AC, judgement
    assert grade_tests(COPY_FILE[language], language, tests, SMALL, Checker()).verdict is not Verdict.AC


def test_files_of_programs_are_read_under_every_umask_of_the_judge(make_test: MakeTest) -> None:
    open_sandbox().close()  # a new template inherits the umask
    before = os.umask(0o077)
    try:
        tests, files = [make_test("3 4", "7")], FileNames("sum.in", "sum.out")
        for language, program in COPY_FILE.items():
            assert grade_tests(program, language, tests, SMALL, Checker(), files=files).verdict is Verdict.AC
    finally:
        os.umask(before)


def test_where_files_may_be_used_standard_streams_still_work_and_only_files_count_as_files(
    make_test: MakeTest,
) -> None:
    tests = [make_test("3 4", "7")]
    for output, verdict in (
        ("print(sum(map(int, input().split())))", Verdict.AC),
        ("print(7)\nopen('sum.out', 'w').write('8')", Verdict.WA),
        ("print(7)\nimport os\nos.mkfifo('sum.out')", Verdict.AC),
        ("print(7)\nimport os\nos.symlink('/program/main.py', 'sum.out')", Verdict.AC),
        ("print(7)\nopen('sum.out', 'w').write('7' * 2**20 + '7')", Verdict.OLE),
    ):
        files = FileNames("sum.in", "sum.out")
        assert grade_tests(output, "python", tests, SMALL, Checker(), files=files).verdict is verdict, output


def test_several_programs_can_be_judged_at_once(make_test: MakeTest) -> None:
    test = make_test("7", "7")
    verdicts: list[Verdict] = []

    def work() -> None:
        for _ in range(3):
            verdicts.append(grade_tests("print(input())", "python", [test], SMALL, Checker()).verdict)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [Verdict.AC] * 12


def test_every_verdict_has_a_meaning_in_one_sentence() -> None:
    assert set(judge.VERDICT_MEANING) == set(Verdict)
    assert all(meaning.endswith(".") for meaning in judge.VERDICT_MEANING.values())


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("a.py", "python"),
        (Path("x/y.CPP"), "cpp"),
        ("b.cc", "cpp"),
        (".py", "python"),
        ("/a.b/c.py", "python"),
    ],
)
def test_languages_are_known_by_the_ending_of_a_file(file: Path | str, language: str) -> None:
    assert judge.language_of(file) == language


@pytest.mark.parametrize("file", ["a.hs", "a", "", ".swift", "py", "a.pyc"])
def test_files_of_other_languages_are_refused_with_the_endings_there_are(file: str) -> None:
    with pytest.raises(judge.UnknownLanguageError, match=r"\.py.*\.cpp"):
        judge.language_of(file)
