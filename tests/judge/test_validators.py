"""Output validators, special judges and problems of several passes in the real sandbox."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from judge import Checker, Judgement, Limits, OutputValidator, Policy, Verdict
from tests.judge.conftest import MEBIBYTE, SMALL, MakeTest, Need, grade_tests

pytestmark = pytest.mark.usefixtures("sandbox")

ECHO = "import sys\nsys.stdout.write(sys.stdin.read())"
FEW = Limits(time=0.5, memory=128 * MEBIBYTE, output=MEBIBYTE)

Cases = Mapping[str, str]
JudgeAll = Callable[..., Judgement]


def validator(source: str, **settings: Any) -> Checker:
    """Return a checker with an output validator in Python."""
    return Checker(
        "validator", program=OutputValidator("python", {"validate.py": source}, limits=FEW, **settings)
    )


def special(source: str) -> Checker:
    """Return a checker with a special judge in Python."""
    return Checker("special", program=OutputValidator("python", {"spj.py": source}, limits=FEW))


@pytest.fixture
def judge_all(make_test: MakeTest) -> JudgeAll:
    """Return a function that judges a program on named inputs; every answer is "right"."""

    def judge_them(source: str, inputs: Cases, checker: Checker, limits: Limits = SMALL) -> Judgement:
        tests = [make_test(text, "right", name) for name, text in inputs.items()]
        return grade_tests(
            source, "python", tests, limits, checker, policy=Policy.COMPAT, stop_at_first_failure=False
        )

    return judge_them


def verdicts(judgement: Judgement) -> dict[str, str]:
    return {test.name: test.verdict.value for test in judgement.tests}


def test_an_output_validator_is_called_as_the_format_says(judge_all: JudgeAll) -> None:
    source = """
import pathlib, sys
_, given, answer, feedback, *flags = sys.argv
assert (pathlib.Path(given).read_text(), pathlib.Path(answer).read_text()) == ("3", "right")
assert feedback.endswith("/") and pathlib.Path(feedback).is_dir()
assert flags == ["a b", "--c"], flags
output = sys.stdin.read()
open(feedback + "judgemessage.txt", "w").write(f"got {output}")
open(feedback + "teammessage.txt", "w").write("think again")
sys.exit(42 if output == "9" else 43)
"""
    checker = validator(source, flags=("a b", "--c"))
    (right,) = judge_all("print(int(input()) ** 2, end='')", {"1": "3"}, checker).tests
    assert (right.verdict, right.message) == (Verdict.AC, "got 9\nFor the team: think again")
    (wrong,) = judge_all("print(int(input()) * 2, end='')", {"1": "3"}, checker).tests
    assert (wrong.verdict, wrong.message) == (Verdict.WA, "got 6\nFor the team: think again")


def test_whatever_else_a_validator_does_is_its_own_fault(judge_all: JudgeAll) -> None:
    """The program copies its input, whose code the validator executes."""
    behaviours = {
        "accepts": ("sys.exit(42)", "AC", ""),
        "rejects": ("sys.exit(43)", "WA", "did not say why"),
        "rejects and says": ("open(sys.argv[3] + 'judgemessage.txt', 'w').write('no'); sys.exit(43)", "WA", "no"),
        "ends well": ("", "JE", "status 0 instead of 42 or 43"),
        "crashes": ("1 / 0", "JE", "ZeroDivisionError: division by zero"),
        "is killed": ("os.kill(os.getpid(), 9)", "JE", "signal 9"),
        "loops": ("while True: pass", "JE", "used more than 0.5 s of CPU"),
        "takes memory": ("x = bytearray(10**9)", "JE", "used more than 128 MiB of memory"),
        "prints": ("while True: print('x' * 10**6)", "JE", "printed more than 1 MiB"),
        "writes": ("f = open(sys.argv[3] + 'notes', 'w')\nwhile True: f.write('x' * 10**6)", "JE", "File too large"),
        "forks": ("while True: os.fork()", "JE", ""),
        "leaves a child": ("os.fork() or time.sleep(60); sys.exit(42)", "AC", ""),
        "message is a link": ("os.symlink('/etc/passwd', sys.argv[3] + 'judgemessage.txt'); sys.exit(43)", "WA", "why"),
        "message is no text": ("open('/box/judgemessage.txt', 'wb').write(b'\\xff\\0'); sys.exit(43)", "WA", ""),
        "looks for others": ("sys.exit(42 if set(os.listdir('/box')) <= {'.input', '.answer'} else 43)", "AC", ""),
    }  # fmt: skip
    obey = validator("import os, sys, time\nexec(sys.stdin.read())")
    judgement = judge_all(ECHO, {name: code for name, (code, _, _) in behaviours.items()}, obey)
    assert verdicts(judgement) == {name: verdict for name, (_, verdict, _) in behaviours.items()}
    for test in judgement.tests:
        assert behaviours[test.name][2] in test.message, test
        assert "root:" not in test.message


def test_a_crash_of_the_program_never_reaches_the_validator(judge_all: JudgeAll) -> None:
    accept = validator("import sys; sys.exit(42)")
    inputs = {"crash": "1 / 0", "loop": "while True: pass", "flood": "print('x' * 2**21)", "well": ""}
    judgement = judge_all("exec(open(0).read())", inputs, accept)
    assert verdicts(judgement) == {"crash": "RTE", "loop": "TLE", "flood": "OLE", "well": "AC"}


@pytest.mark.parametrize(
    ("language", "sources"),
    [
        (
            "cpp",
            {
                "validate.h": "#include <fstream>\n#include <iostream>\nint verdict(bool good);\n",
                "verdict.cpp": '#include "validate.h"\nint verdict(bool good) { return good ? 42 : 43; }\n',
                "validate.cpp": '#include "validate.h"\nint main(int, char** a) { std::ifstream in(a[1]);\n'
                "int n, m; in >> n; return verdict(bool(std::cin >> m) && m == -n); }\n",
            },
        ),
        (
            "python",
            {
                "__main__.py": "import sys\nfrom rules import verdict\n"
                "verdict(int(input()) == -int(open(sys.argv[1]).read()))",
                "rules.py": "import sys\ndef verdict(good): sys.exit(42 if good else 43)",
            },
        ),
        (
            "java",
            {
                "Validate.java": "import java.nio.file.*; import java.util.*;\npublic class Validate {\n"
                "public static void main(String[] a) throws Exception {\n"
                "int n = Integer.parseInt(Files.readString(Path.of(a[0])).trim());\n"
                "System.exit(new Scanner(System.in).nextInt() == -n ? 42 : 43); } }\n",
            },
        ),
    ],
)
def test_validators_may_have_several_files_and_be_in_any_language(
    judge_all: JudgeAll, need: Need, language: str, sources: dict[str, str]
) -> None:
    need(language)
    program = OutputValidator(language, sources, limits=replace(FEW, time=5.0, memory=512 * MEBIBYTE))
    checker = Checker("validator", program=program)
    assert judge_all("print(-int(input()))", {"1": "5"}, checker).verdict is Verdict.AC
    assert judge_all("print(int(input()))", {"1": "5"}, checker).verdict is Verdict.WA


def test_a_checking_program_that_does_not_compile_is_named(judge_all: JudgeAll) -> None:
    program = OutputValidator("cpp", {"validate.cpp": "int main() { return forty_two; }"})
    judgement = judge_all(ECHO, {"1": ""}, Checker("validator", program=program))
    assert judgement.verdict is Verdict.JE
    assert "does not compile" in judgement.tests[0].message
    assert "forty_two" in judgement.tests[0].message


def test_special_judges_print_their_verdict_or_end_well(judge_all: JudgeAll) -> None:
    behaviours = {
        "says so": ("print('Accepted')", "AC"),
        "says so and fails": ("print('Accepted'); sys.exit(1)", "AC"),
        "says wrong": ("print('Wrong Answer'); sys.exit(1)", "WA"),
        "says something": ("print('Presentation Error')", "WA"),
        "silent": ("", "AC"),
        "silent and fails": ("sys.exit(1)", "JE"),
        "says it failed": ("print('System Error')", "JE"),
        "crashes": ("1 / 0", "JE"),
        "is killed": ("print('Accepted', flush=True); os.kill(os.getpid(), 9)", "JE"),
        "loops": ("while True: pass", "JE"),
    }
    files = "import os, sys\n_, given, answer, output = sys.argv\nassert open(answer).read() == 'right'\n"
    checker = special(files + "assert open(given).read() == open(output).read()\nexec(open(output).read())")
    judgement = judge_all(ECHO, {name: code for name, (code, _) in behaviours.items()}, checker)
    assert verdicts(judgement) == {name: verdict for name, (_, verdict) in behaviours.items()}


# Each pass doubles the number, until it exceeds the limit that the first input names.
DOUBLING = """
import os, sys
state = sys.argv[3] + "state"
limit, passes = open(state).read().split() if os.path.exists(state) else (open(sys.argv[1]).read().split()[0], "0")
given, got = int(open(sys.argv[1]).read().split()[-1]), int(input())
open(state, "w").write(f"{limit} {int(passes) + 1}")
open(sys.argv[3] + "judgemessage.txt", "a").write(f"{got} ")
if got != 2 * given: sys.exit(43)
if got <= int(limit): open(sys.argv[3] + "nextpass.in", "w").write(str(got))
sys.exit(42)
"""
DOUBLE = "print(2 * int(input().split()[-1]))"


def test_each_pass_gets_the_input_that_the_validator_wrote(judge_all: JudgeAll) -> None:
    judgement = judge_all(DOUBLE, {"1": "20 3"}, validator(DOUBLING, passes=3))
    (test,) = judgement.tests
    assert (test.verdict, test.message) == (Verdict.AC, "6 12 24")
    wrong_later = "n = int(input().split()[-1])\nprint(2 * n if n < 12 else 1)"
    (test,) = judge_all(wrong_later, {"1": "20 3"}, validator(DOUBLING, passes=3)).tests
    assert (test.verdict, test.message) == (Verdict.WA, "6 12 1")
    crash_later = "n = int(input().split()[-1])\nprint(2 * n // (n < 12))"
    assert judge_all(crash_later, {"1": "20 3"}, validator(DOUBLING, passes=3)).verdict is Verdict.RTE


def test_more_passes_than_allowed_and_contradictions_are_the_validators_fault(judge_all: JudgeAll) -> None:
    (test,) = judge_all(DOUBLE, {"1": "20 3"}, validator(DOUBLING, passes=2)).tests
    assert (test.verdict, "more than the 2 passes" in test.message) == (Verdict.JE, True)
    contradiction = "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('')\nsys.exit(43)"
    (test,) = judge_all(DOUBLE, {"1": "20 3"}, validator(contradiction, passes=2)).tests
    assert (test.verdict, "rejected" in test.message) == (Verdict.JE, True)
    prolific = "import sys\nfor name in [*range(240), 'nextpass.in']: open(sys.argv[3] + str(name), 'w')\nsys.exit(42)"
    (test,) = judge_all(DOUBLE, {"1": "20 3"}, validator(prolific, passes=2)).tests
    assert (test.verdict, "more than 100 feedback files" in test.message) == (Verdict.JE, True)


def test_no_pass_sees_what_the_program_left_in_another(judge_all: JudgeAll) -> None:
    hoard = "import os\nseen = os.listdir('.')\nopen('kept', 'w').write('x')\n" + DOUBLE + "\nassert not seen"
    assert judge_all(hoard, {"1": "20 3"}, validator(DOUBLING, passes=3)).verdict is Verdict.AC


def test_the_time_of_a_test_is_that_of_its_slowest_pass(judge_all: JudgeAll) -> None:
    slow = f"import time\nn = int(input().split()[-1])\nwhile time.process_time() < 0.2 and n < 4: pass\n{DOUBLE}"
    slow = slow.replace("int(input().split()[-1]))", "n)")
    (test,) = judge_all(slow, {"1": "20 3"}, validator(DOUBLING, passes=3)).tests
    assert test.verdict is Verdict.AC
    assert 0.2 <= test.time < 0.5


@given(
    st.builds(
        OutputValidator,
        language=st.sampled_from(["cpp", "python"]),
        sources=st.dictionaries(st.from_regex(r"[a-z]{1,8}\.(py|h)", fullmatch=True), st.text(), min_size=1),
        flags=st.lists(st.text()).map(tuple),
        interactive=st.booleans(),
        passes=st.integers(1, 5),
        limits=st.builds(Limits, st.floats(0.1, 60), st.integers(1, 2**40), st.integers(1, 2**40)),
    )
)
def test_checkers_with_programs_survive_their_json_form(program: OutputValidator) -> None:
    checker = Checker("validator", program=program)
    assert Checker.from_json(json.loads(json.dumps(checker.to_json()))) == checker


@pytest.mark.parametrize(
    "make",
    [
        lambda: Checker("validator"),
        lambda: Checker("tokens", program=OutputValidator("python", {"a.py": ""})),
        lambda: Checker("special", program=OutputValidator("python", {"a.py": ""}, passes=2)),
        lambda: Checker("special", program=OutputValidator("python", {"a.py": ""}, interactive=True)),
        lambda: OutputValidator("python", {}),
        lambda: OutputValidator("python", {"../a.py": ""}),
        lambda: OutputValidator("python", {"a.py": ""}, passes=0),
        lambda: judge.check(validator(""), b"", b""),
    ],
)
def test_checkers_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"program|passes|special|file|runs"):
        make()


def test_large_tests_and_outputs_reach_the_validator_whole(judge_all: JudgeAll, tmp_path: Path) -> None:
    same = "import sys\nsys.exit(42 if sys.stdin.read() == open(sys.argv[1]).read() else 43)"
    big = "x" * (24 * MEBIBYTE)
    limits = Limits(time=2, memory=256 * MEBIBYTE, output=32 * MEBIBYTE)
    assert judge_all(ECHO, {"1": big}, validator(same), limits).verdict is Verdict.AC
